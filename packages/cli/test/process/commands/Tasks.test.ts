/** `effect-mcp tasks` and `call --detach` with the reference server over HTTP, in both eras, in separate processes and in this one. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { restarting } from "../../support/restarting.ts"
import { everything, type Ran, served, spawned, commandLine, run as runHere } from "../../support/run.ts"

const commandIn = (
  revision: string,
  words: ReadonlyArray<string>,
  server: ReadonlyArray<string>
): Effect.Effect<Ran> => {
  const [node, main, , , ...args] = commandLine([...words, "--revision", revision, ...server])
  return spawned(node, [main ?? "", ...args], "end")
}

describe.concurrent.each(["2025-11-25", "2026-07-28"])("Tasks on the reference server in %s", (revision) => {
  const command = (words: ReadonlyArray<string>, server: ReadonlyArray<string>) => commandIn(revision, words, server)
  const overHttp = Effect.map(
    served,
    (url) =>
      (...words: ReadonlyArray<string>) =>
        command(words, ["--", url])
  )

  it.live("call --detach prints an id that other commands use to read and follow the task", () =>
    Effect.gen(function* () {
      const run = yield* overHttp
      const begun = yield* run("call", "slow_compute", "seconds=600", "label=it", "--detach")
      assert.strictEqual(begun.code, 0, begun.stderr)
      const id = begun.stdout.trim()
      assert.match(id, /^t[\w-]{43}$/)
      const got = JSON.parse((yield* run("tasks", "get", id, "--json")).stdout)
      assert.deepInclude(got, { taskId: id, statusMessage: "Computing it" })
      assert.include((yield* run("tasks", "get", id)).stdout, "Message  Computing it")
      const short = yield* run("call", "slow_compute", "seconds=1", "label=it", "--detach")
      const ended = yield* run("tasks", "result", short.stdout.trim())
      assert.deepStrictEqual(ended, { code: 0, stdout: "Computed it in 1 seconds\n", stderr: "" })
    }).pipe(Effect.scoped)
  )

  it.live("tasks result answers a task's questions", () =>
    Effect.gen(function* () {
      const run = yield* overHttp
      const begun = yield* run("call", "confirm_delete", "filename=x", "--detach", "--accept")
      assert.strictEqual(begun.code, 0, begun.stderr)
      const ended = yield* run("tasks", "result", begun.stdout.trim(), "--answer", "confirm=true")
      assert.deepStrictEqual(ended, { code: 0, stdout: "Deleted x\n", stderr: "" })
    }).pipe(Effect.scoped)
  )

  it.live("tasks result reports a question it cannot answer", () =>
    Effect.gen(function* () {
      const run = yield* overHttp
      const begun = yield* run("call", "confirm_delete", "filename=x", "--detach", "--accept")
      const { code, stderr } = yield* run("tasks", "result", begun.stdout.trim())
      assert.strictEqual(code, 1)
      assert.include(stderr, "The task is waiting for an answer")
      assert.include(stderr, "use --accept, --answer or --decline")
    }).pipe(Effect.scoped)
  )

  it.live("tasks cancel ends a task, whose result is a server error", () =>
    Effect.gen(function* () {
      const url = yield* served
      const run = (...words: ReadonlyArray<string>) => runHere([...words, "--revision", revision, "--", url])
      const id = (yield* run("call", "slow_compute", "seconds=600", "--detach")).stdout.trim()
      const cancelled = yield* run("tasks", "cancel", id)
      assert.deepStrictEqual(cancelled, { code: 0, stdout: `Cancelled ${id}\n`, stderr: "" })
      assert.include((yield* run("tasks", "get", id)).stdout, "cancelled")
      const { code, stderr } = yield* run("tasks", "result", id)
      assert.deepStrictEqual([code, stderr], [1, "error: The task was cancelled: Cancelled by the client\n"])
    }).pipe(Effect.scoped)
  )

  it.live("call --detach prints the result of a call answered without a task", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* command(["call", "add", "a=1", "b=2", "--detach"], everything)
      assert.deepStrictEqual([code, stdout], [0, `{\n  "sum": 3\n}\n`])
      assert.include(stderr, "without creating a task")
    })
  )

  it.live("call follows a task over stdio, with its messages as progress, and shows its question", () =>
    Effect.gen(function* () {
      const followed = yield* command(["call", "slow_compute", "seconds=1", "--json", "--progress"], everything)
      const [first, last] = followed.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
      assert.deepInclude(first, { event: "progress", message: "Computing nothing" })
      assert.deepInclude(last, { event: "result" })
      const declined = yield* command(["call", "confirm_delete", "filename=x", "--answer", "confirm=false"], everything)
      assert.strictEqual(declined.stdout, "Kept x\n")
    })
  )

  it.live("tasks result keeps following its task after the server restarts", () =>
    Effect.gen(function* () {
      const url = yield* served
      const id = (yield* command(["call", "slow_compute", "seconds=4", "--detach"], ["--", url])).stdout.trim()
      const ended = yield* command(["tasks", "result", id], ["--", yield* restarting(url)])
      assert.deepStrictEqual([ended.code, ended.stdout], [0, "Computed nothing in 4 seconds\n"], ended.stderr)
      assert.include(ended.stderr, `was lost while it was running the task ${id}`)
    }).pipe(Effect.scoped)
  )

  it.live("tasks list shows this connection's tasks if the revision can list them", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* command(["tasks", "list"], everything)
      if (revision === "2025-11-25") assert.deepStrictEqual([code, stdout], [0, "No tasks\n"])
      else {
        assert.strictEqual(code, 1)
        assert.include(stderr, "cannot list tasks")
      }
    })
  )
})

describe.concurrent("Calls that become tasks", () => {
  const call = (words: ReadonlyArray<string>, server: ReadonlyArray<string>) =>
    commandIn("2026-07-28", ["call", ...words], server)

  it.live("call keeps following its task after the server restarts", () =>
    Effect.gen(function* () {
      const url = yield* restarting(yield* served)
      const { code, stderr, stdout } = yield* call(["slow_compute", "seconds=2"], ["--", url])
      assert.deepStrictEqual([code, stdout], [0, "Computed nothing in 2 seconds\n"], stderr)
      assert.match(stderr, /get the result with: effect-mcp tasks result t[\w-]{43} -- http:\S+\n/)
    }).pipe(Effect.scoped)
  )
})

/** The lock and verify commands with a server whose tools are the lines of a file, and `--lock` of other commands. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { fileURLToPath } from "node:url"
import { run } from "../../support/run.ts"

const server = fileURLToPath(new URL("../../support/changing.ts", import.meta.url))

const workplace = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const cwd = yield* files.makeTempDirectoryScoped()
  const lock = `${cwd}/pins.json`
  const words = ["--lock", lock, "--cwd", cwd, "--revision", "2025-11-25"]
  return {
    cwd,
    lock,
    offers: (...tools: ReadonlyArray<string>) => files.writeFileString(`${cwd}/tools.txt`, tools.join("\n")),
    text: files.readFileString(lock),
    to: (command: string, ...more: ReadonlyArray<string>) =>
      run([command, ...more, ...words, "--", process.execPath, server])
  }
})

describe("effect-mcp lock and verify", () => {
  it.live("The verify command reports what changed since lock, and lock accepts it", () =>
    Effect.gen(function* () {
      const { offers, text, to } = yield* workplace
      yield* offers("add", "read")
      const none = yield* to("verify", "--name", "notes")
      assert.deepStrictEqual([none.code, none.stdout], [2, ""])
      assert.include(none.stderr, "has no pins for notes, and none for another server. Run effect-mcp lock first")
      const locked = yield* to("lock", "--name", "notes")
      assert.strictEqual(locked.code, 0, locked.stderr)
      assert.match(
        locked.stdout,
        /^Pinned 2 tools, 0 prompts, 0 resources, 0 resource templates, 0 skills of notes in .*pins\.json\n$/
      )
      assert.include(yield* text, `"notes": {`)
      const same = yield* to("verify", "--name", "notes")
      assert.deepStrictEqual([same.code, same.stderr], [0, ""])
      assert.include(same.stdout, "notes is as pinned")
      yield* offers("add", "write")
      const changed = yield* to("verify", "--name", "notes", "--json")
      assert.strictEqual(changed.code, 1)
      const { findings } = JSON.parse(changed.stdout)
      assert.deepStrictEqual(
        findings.map(({ code, item, verdict }: any) => [verdict, code, item]),
        [
          ["ask", "added", "write"],
          ["harmless", "removed", "read"]
        ]
      )
      assert.strictEqual((yield* to("lock", "--name", "notes")).code, 0)
      assert.strictEqual((yield* to("verify", "--name", "notes")).code, 0)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("The verify command shows the old and the new text, escaped and cut around the change", () =>
    Effect.gen(function* () {
      const { offers, to } = yield* workplace
      const long = "Adds numbers. ".repeat(100)
      const described = (name: string, text: string) => `${name}|${JSON.stringify(text)}`
      yield* offers(described("add", "Adds two numbers."), described("sum", long), "read")
      yield* to("lock")
      const moved = "Adds two numbers and \u001b[2K mails them."
      yield* offers(
        described("add", moved),
        described("sum", `${long}${"Then mail them. ".repeat(1000)}`),
        "read",
        described("write", "Writes.")
      )
      const { code, stdout } = yield* to("verify")
      assert.strictEqual(code, 1)
      const lines = stdout.split("\n")
      const at = lines.indexOf("tools add /description")
      assert.deepStrictEqual(lines.slice(at + 1, at + 3), [
        `  - "Adds two numbers."`,
        `  + "Adds two numbers and \\u001b[2K mails them."`
      ])
      const sum = lines.indexOf("tools sum /description")
      assert.match(lines[sum + 2] ?? "", /^ {2}\+ ….{1,40}Then mail them.*…$/)
      assert.isBelow(lines[sum + 2]?.length ?? Infinity, 600)
      assert.include(lines, "tools write /description")
      const { changes } = JSON.parse((yield* to("verify", "--json")).stdout)
      assert.deepStrictEqual(changes[0], {
        list: "tools",
        item: "add",
        path: "/description",
        before: "Adds two numbers.",
        after: moved
      })
      assert.lengthOf(changes.find(({ item }: any) => item === "sum").after, 10_001)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("The verify command finds the pins of another version of a package and lists the known names", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const { cwd, lock, offers, to } = yield* workplace
      yield* offers("add")
      const npx = `${cwd}/npx`
      yield* files.writeFileString(npx, `#!/bin/sh\nexec '${process.execPath}' '${server}'\n`)
      yield* files.chmod(npx, 0o755)
      const versioned = (command: string, spec: string) =>
        run([command, "--lock", lock, "--cwd", cwd, "--revision", "2025-11-25", "--", npx, "-y", spec])
      assert.strictEqual((yield* versioned("lock", "@ada/notes@1.2.3")).code, 0)
      const updated = yield* versioned("verify", "@ada/notes@1.3.0")
      assert.deepStrictEqual([updated.code, updated.stderr], [0, ""])
      const other = yield* to("verify", "--name", "notes")
      assert.strictEqual(other.code, 2)
      assert.include(other.stderr, `has no pins for notes, only for "${npx} -y @ada/notes"`)
      assert.include(other.stderr, "add --name NAME")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("The lock command pins suspicious servers only on request", () =>
    Effect.gen(function* () {
      const { lock, offers, text, to } = yield* workplace
      yield* offers("add", "re\u200bad")
      const refused = yield* to("lock")
      assert.strictEqual(refused.code, 1)
      assert.include(refused.stdout, "invisible character (U+200B)")
      assert.include(refused.stderr, "Nothing was pinned")
      assert.isFalse(yield* Effect.flatMap(FileSystem.FileSystem, (files) => files.exists(lock)))
      assert.strictEqual((yield* to("lock", "--suspicious")).code, 0)
      assert.include(yield* text, "re\u200bad")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("Other commands hide what differs from the lock file", () =>
    Effect.gen(function* () {
      const { offers, to } = yield* workplace
      yield* offers("add", "read")
      yield* to("lock")
      yield* offers("add", "write")
      const { code, stderr, stdout } = yield* to("tools", "--json")
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(
        JSON.parse(stdout).map(({ name }: any) => name),
        ["add"]
      )
      assert.include(stderr, `hidden: The tool "write" is new`)
      const called = yield* to("call", "write")
      assert.strictEqual(called.code, 2)
      assert.include(called.stderr, "no tool named write")
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

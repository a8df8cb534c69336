import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { here, run } from "../../support/run.ts"

const faulty = ["--", process.execPath, fileURLToPath(new URL("../../support/faulty.ts", import.meta.url))]
const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-mcp-fuzz-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)
const quick = ["--revision", "2025-11-25", "--timeout", "20s", "--time", "10m"]

describe("effect-mcp check", () => {
  it.live("check shows each rule and writes its reports and a badge", () =>
    Effect.gen(function* () {
      const dir = yield* folder
      const files = ["report.xml", "report.json", "badge.svg"].map((name) => join(dir, name))
      const [xml = "", reportJson = "", svg = ""] = files
      const wanted = ["--revision", "2025-11-25", "--report", xml, "--report", reportJson, "--badge", svg]
      const { code, stdout } = yield* run(["check", ...wanted, ...faulty])
      assert.strictEqual(code, 1, stdout)
      assert.match(stdout, /✓ Every message is a valid JSON-RPC 2.0 message\./)
      assert.match(stdout, /✗ SHOULD An invalid cursor is answered with error -32602\. Broken in 2025-11-25\./)
      assert.match(stdout, /- A session id has .* \(not applicable: only over Streamable HTTP\)/)
      assert.match(stdout, /Check it again: effect-mcp check --only cursor-invalid --revision 2025-11-25 -- /)
      assert.match(stdout, /kept in +MUST +SHOULD +robustness/)
      assert.include(readFileSync(xml, "utf8"), `<skipped message="only over Streamable HTTP"/>`)
      assert.include(readFileSync(svg, "utf8"), "2025-11-25, 2 MUST broken")
      const { rules } = JSON.parse(readFileSync(reportJson, "utf8"))
      assert.isTrue(
        rules.every(({ broken, kept, notExercised }: any) => broken + kept > 0 || notExercised !== undefined)
      )
      const again = yield* run([
        "check",
        "--only",
        "cursor-invalid",
        "--revision",
        "2025-11-25",
        "--level",
        "MUST",
        ...faulty
      ])
      assert.strictEqual(again.code, 0, again.stdout)
      assert.include(again.stdout, "cursor-invalid tools/list")
    })
  )
})

describe("effect-mcp fuzz", () => {
  it.live("fuzz finds a fault and writes its reports and the finding, which replay reproduces", () =>
    Effect.gen(function* () {
      const dir = yield* folder
      const reports = ["json", "xml", "md"].flatMap((kind) => ["--report", join(dir, `report.${kind}`)])
      const { code, stdout } = yield* run(
        ["fuzz", ...quick, "--only", "cursor-invalid", "--runs", "12", "--jobs", "3"].concat(
          reports,
          ["--save", join(dir, "findings")],
          faulty
        )
      )
      assert.strictEqual(code, 1, stdout)
      assert.include(stdout, "SHOULD  cursor-invalid tools/list  (2025-11-25)")
      assert.include(stdout, "pagination.cursor.invalid, https://modelcontextprotocol.io/specification/2025-11-25/")
      assert.include(stdout, "12 conversations in")
      const report = JSON.parse(readFileSync(join(dir, "report.json"), "utf8"))
      assert.deepStrictEqual(
        report.findings.map(({ key, level }: any) => [key, level]),
        [["cursor-invalid tools/list", "SHOULD"]]
      )
      assert.include(readFileSync(join(dir, "report.xml"), "utf8"), `tests="1" failures="1"`)
      assert.include(
        readFileSync(join(dir, "report.md"), "utf8"),
        "| SHOULD | cursor-invalid tools/list | 2025-11-25 |"
      )
      const files = readdirSync(join(dir, "findings"))
      assert.deepStrictEqual(files, ["cursor-invalid-tools-list.json"])
      const again = yield* run(["replay", join(dir, "findings", files[0] ?? ""), "--timeout", "20s", ...faulty])
      assert.strictEqual(again.code, 1)
      assert.include(again.stdout, `"method":"tools/list"`)
      assert.include(again.stdout, "cursor-invalid tools/list happened 3 of 3 times\n")
    })
  )

  it.live("fuzz accepts known findings and findings below the requested level", () =>
    Effect.gen(function* () {
      const known = join(yield* folder, "known.txt")
      writeFileSync(known, "# accepted\ncursor-invalid tools/list # until the next version\n")
      const wanted = ["fuzz", ...quick, "--only", "cursor-invalid", "--runs", "8"]
      const accepted = yield* run([...wanted, "--known", known, ...faulty])
      assert.strictEqual(accepted.code, 0, accepted.stdout)
      const must = yield* run([...wanted, "--level", "MUST", ...faulty])
      assert.strictEqual(must.code, 0)
      assert.include(must.stdout, "cursor-invalid tools/list")
    })
  )

  it("fuzz explains what is wrong with its command line", async () => {
    const cases: ReadonlyArray<readonly [ReadonlyArray<string>, number, string]> = [
      [["fuzz"], 2, "No server"],
      [["fuzz", "--time", "soon", ...here], 2, "--time soon is not a duration"],
      [["fuzz", "--jobs", "0", ...here], 2, "--jobs 0"],
      [["fuzz", "--known", "/nowhere", ...faulty], 2, "Cannot read /nowhere"],
      [["fuzz", "--stranger-header", "eve", ...here], 2, '--stranger-header "eve" is not a header'],
      [["fuzz", "--stranger-header", "x-user: eve", ...faulty], 2, "--stranger-header is for a server at a URL"],
      [["fuzz", "--", "no-such-program"], 3, "Cannot start no-such-program"],
      [["fuzz", "--", "http://127.0.0.1:1/mcp"], 3, "Cannot reach http://127.0.0.1:1/mcp"],
      [["fuzz", "--", "http://127.0.0.1:1/mcp", "more"], 2, "A URL does not take arguments: more"],
      [["replay", "/nowhere", ...faulty], 2, "Cannot read /nowhere"],
      [["replay", fileURLToPath(import.meta.url), ...faulty], 2, "was not written by effect-mcp fuzz --save"]
    ]
    for (const [argv, code, message] of cases) {
      const ran = await Effect.runPromise(run(argv))
      assert.strictEqual(ran.code, code, ran.stderr)
      assert.include(ran.stderr, message)
    }
  })
})

const programOf = (file: string) => [
  "--",
  process.execPath,
  fileURLToPath(new URL(`../../support/${file}`, import.meta.url))
]
const client = programOf("clientMutant.ts")

describe("effect-mcp fuzz-client", () => {
  it.live.each([
    ["given a URL", client, []],
    ["given a command", programOf("stdioMutant.ts"), ["--stdio"]]
  ] as const)("fuzz-client finds the fault in a program %s, and replay reproduces it", ([, client, how]) =>
    Effect.gen(function* () {
      const dir = yield* folder
      const wanted = ["--only", "client-id-unique", "--runs", "4", "--save", dir, ...how]
      const { code, stdout } = yield* run(["fuzz-client", ...quick, ...wanted, ...client])
      assert.strictEqual(code, 1, stdout)
      assert.include(stdout, "MUST  client-id-unique  (2025-11-25)")
      assert.include(stdout, "json-rpc.request.id-unique, https://modelcontextprotocol.io/specification/2025-11-25/")
      const again = yield* run(["replay", join(dir, "client-id-unique.json"), "--timeout", "20s", ...client])
      assert.strictEqual(again.code, 1)
      assert.include(again.stdout, "client-id-unique happened 3 of 3 times\n")
    })
  )

  it.live.each([
    [
      "a URL",
      ["--", "http://127.0.0.1:1/mcp"],
      2,
      "is not a client command. Put the command that starts the client after --"
    ],
    ["a program that is not a client", ["--", process.execPath, "-e", "0"], 3, "fails even with a correct server"],
    ["a missing program", ["--", "/no/such/client"], 3, "Cannot start /no/such/client"]
  ] as const)("fuzz-client rejects %s", ([, words, expected, message]) =>
    Effect.gen(function* () {
      const { code, stderr } = yield* run(["fuzz-client", ...quick, ...words])
      assert.include(stderr, message)
      assert.strictEqual(code, expected)
    })
  )
})

describe("effect-mcp diff", () => {
  const [, ...command] = faulty

  it.live("diff finds nothing between a server and itself, and the differences to another server", () =>
    Effect.gen(function* () {
      const wanted = ["diff", ...quick, "--runs", "4", "--ignore", "tools/call", "--"]
      const same = yield* run([...wanted, ...command, "---", ...command])
      assert.strictEqual(same.code, 0, same.stdout)
      assert.include(same.stdout, "4 conversations in")
      const other = yield* run([...wanted, ...command, "---", ...command, "--tool"])
      assert.strictEqual(other.code, 1, other.stdout)
      assert.include(other.stdout, "difference  same tools/list result.tools  (2025-11-25)")
      assert.match(other.stdout, /The first says \[\], the second \[\{.*"name":"x"/)
    })
  )

  it("diff explains what is wrong with its command line", async () => {
    const cases: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
      [["diff", ...faulty], "Pass two servers, separated by ---"],
      [["diff", ...faulty, "---"], "Pass two servers, separated by ---"],
      [["diff", "--", "---", "x"], "Pass two servers, separated by ---"]
    ]
    for (const [argv, message] of cases) {
      const ran = await Effect.runPromise(run(argv))
      assert.include(ran.stderr, message)
      assert.strictEqual(ran.code, 2)
    }
  })
})

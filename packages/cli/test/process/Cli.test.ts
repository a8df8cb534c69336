import * as Unanswered from "@effect-mcp/cli/Unanswered"
import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { here, raw, run } from "../support/run.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-mcp-cli-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)
const json = (text: string): any => JSON.parse(text)

describe("effect-mcp against the reference server", () => {
  it.live("inspect shows all of a server's features as text, and as JSON for scripts", () =>
    Effect.gen(function* () {
      const shown = yield* run(["inspect", ...here])
      assert.strictEqual(shown.code, 0)
      assert.include(shown.stdout, "effect-mcp-everything 0.1.0  Everything\n")
      assert.match(shown.stdout, /\nTools \(\d+\)\n {2}test_simple_text /)
      assert.match(shown.stdout, /\nPrompts \(\d+\)\n/)
      const { stdout } = yield* run(["inspect", "--json", "--revision", "2024-11-05", ...here])
      const { capabilities, protocolVersion, resourceTemplates, serverInfo, tools } = json(stdout)
      assert.strictEqual(protocolVersion, "2024-11-05")
      assert.strictEqual(serverInfo.name, "effect-mcp-everything")
      assert.isTrue(capabilities.resources.subscribe)
      assert.strictEqual(resourceTemplates[0].uriTemplate, "test://template/{id}/data")
      assert.isTrue(tools.some((tool: any) => tool.name === "add"))
    })
  )

  it.live("tools lists the tools, shows one in full, and names tools that do not exist", () =>
    Effect.gen(function* () {
      const all = yield* run(["tools", ...here])
      assert.include(
        all.stdout,
        "add\n  Adds two numbers.\n  Arguments\n    a  number  required\n    b  number  required\n"
      )
      const one = json((yield* run(["tools", "add", "--json", ...here])).stdout)
      assert.deepStrictEqual([one.name, one.inputSchema.required], ["add", ["a", "b"]])
      const none = yield* run(["tools", "nope", ...here])
      assert.deepStrictEqual([none.code, none.stdout], [1, ""])
      assert.strictEqual(none.stderr, "error: The server has no tool named nope. effect-mcp tools lists its tools\n")
    })
  )

  it.live("call converts text to the types in the tool's schema and prints the result", () =>
    Effect.gen(function* () {
      const sum = yield* run(["call", "add", "a=1", "b:=2.5", "--json", ...here])
      assert.deepStrictEqual([sum.code, json(sum.stdout).structuredContent], [0, { sum: 3.5 }])
      const mixed = yield* run(["call", "test_multiple_content_types", ...here])
      assert.strictEqual(
        mixed.stdout,
        `Multiple content types test:
[image, image/png, 69 bytes]
[resource test://mixed-content-resource, application/json]
{"test":"data","value":123}
`
      )
      const wrong = yield* run(["call", "add", "a=one", ...here])
      assert.deepStrictEqual([wrong.code, wrong.stdout], [2, ""])
      assert.include(wrong.stderr, `a: "one" is not a number`)
    })
  )

  it.live("call suggests the tool or argument for a mistyped name and sends nothing", () =>
    Effect.gen(function* () {
      const tool = yield* run(["call", "ad", "a=1", "b=2", ...here])
      assert.deepStrictEqual(tool, {
        code: 2,
        stdout: "",
        stderr: "error: The server has no tool named ad. Did you mean add?\n"
      })
      const typed = yield* run(["call", "log", "mesage=hi", ...here])
      assert.strictEqual(typed.code, 2)
      assert.match(
        typed.stderr,
        /^error: log has no argument mesage\. Did you mean message\? .*\nUsage: effect-mcp call log /
      )
    })
  )

  it.live("call names missing arguments with the tool's signature and sends nothing", () =>
    Effect.gen(function* () {
      const missing = yield* run(["call", "add", "a=1", ...here])
      assert.deepStrictEqual(missing, {
        code: 2,
        stdout: "",
        stderr: "error: add needs b\nUsage: effect-mcp call add a=<number> b=<number>\n"
      })
    })
  )

  it.live("--json prints errors as a line of JSON on stderr", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* run(["call", "ad", "--json", ...here])
      assert.deepStrictEqual([code, stdout], [2, ""])
      const message = "The server has no tool named ad. Did you mean add?"
      assert.deepStrictEqual(json(stderr), { error: { code: 2, message } })
    })
  )

  it.live("complete accepts a prompt by name alone", () =>
    Effect.gen(function* () {
      const words = ["test_prompt_with_arguments", "arg1="]
      const bare = yield* run(["complete", ...words, ...here])
      const named = yield* run(["complete", `prompt:${words[0]}`, "arg1=", ...here])
      assert.strictEqual(bare.code, 0, bare.stderr)
      assert.deepStrictEqual(bare, named)
    })
  )

  it.live("call distinguishes a failing tool from a rejecting server, both with exit code 1", () =>
    Effect.gen(function* () {
      const tool = yield* run(["call", "fail", "as=tool", ...here])
      assert.deepStrictEqual(tool, { code: 1, stdout: "The tool failed\n", stderr: "" })
      const refused = yield* run(["call", "fail", "as=protocol", ...here])
      assert.deepStrictEqual(refused, {
        code: 1,
        stdout: "",
        stderr: "error: The server returned an error: The request failed (-32602, invalid params)\n"
      })
    })
  )

  it.live("call --progress prints progress and the result as one line of JSON each", () =>
    Effect.gen(function* () {
      const { stdout } = yield* run(["call", "test_tool_with_progress", "--json", "--progress", ...here])
      const events = stdout.trim().split("\n").map(json)
      assert.deepStrictEqual(
        events.map(({ event, progress }) => [event, progress]),
        [
          ["progress", 0],
          ["progress", 50],
          ["progress", 100],
          ["result", undefined]
        ]
      )
    })
  )

  it.live("call writes all of the server's log to stderr before it exits", () =>
    Effect.gen(function* () {
      const { stderr, stdout } = yield* run(["call", "log", "message=hi", "--log-level", "notice", ...here])
      assert.strictEqual(stdout, "Logged at eight levels.\n")
      const levels = ["notice", "warning", "error", "critical", "alert", "emergency"]
      assert.strictEqual(stderr, levels.map((level) => `[${level}] everything: hi\n`).join(""))
    })
  )

  const unanswered = [
    { capability: "elicitation", argv: ["test_elicitation", "message=hi"], flags: /--accept, --answer or --decline/ },
    { capability: "sampling", argv: ["test_sampling", "prompt=x"], flags: /use --sample/ },
    { capability: "roots", argv: ["roots"], flags: /use --root/ }
  ]
  for (const { version } of Revision.withElicitation) {
    it.live.each(unanswered)(
      `call names the flags for unavailable client features: $capability in ${version}`,
      ({ argv, capability, flags }) =>
        Effect.gen(function* () {
          const { code, stderr, stdout } = yield* run(["call", ...argv, "--revision", version, ...here])
          assert.strictEqual(code, 1)
          assert.match(`${stdout}${stderr}`, new RegExp(`does not support ${capability}`))
          assert.match(stderr, flags)
        })
    )
  }

  it("call names flags for other servers' errors and results, but not for other failures", () => {
    const failed = (text: string) => Unanswered.flagsOfResult({ isError: true, content: [{ type: "text", text }] })
    assert.include(failed("Client does not support form elicitation."), "--accept")
    assert.include(failed("Client does not support sampling (required for sampling/createMessage)"), "--sample")
    assert.include(failed("Client does not support url elicitation."), "requires a terminal")
    assert.include(failed("it did not declare elicitation.url"), "requires a terminal")
    assert.isUndefined(failed("The roots of the tree were not found"))
    const required = (requiredCapabilities: unknown) => Unanswered.flagsOfData({ requiredCapabilities })
    assert.include(required({ elicitation: {} }), "--accept")
    assert.include(required({ elicitation: { form: {}, url: {} } }), "--accept")
    assert.include(required({ elicitation: { url: {} } }), "requires a terminal")
    assert.isUndefined(required({ extensions: { "com.example/a": {} } }))
    assert.isUndefined(Unanswered.flagsOfData("text"))
  })

  it.live("call answers the server's questions from flags", () =>
    Effect.gen(function* () {
      const form = ["call", "test_elicitation", "message=hi"]
      const answers = ["--answer", "username=ada", "--answer", "email=a@b.c"]
      const answered = yield* run([...form, ...answers, ...here])
      assert.strictEqual(answered.stdout, `User response: action=accept, content={"username":"ada","email":"a@b.c"}\n`)
      const declined = yield* run([...form, "--decline", ...here])
      assert.strictEqual(declined.stdout, "User response: action=decline, content={}\n")
      const sampled = yield* run(["call", "test_sampling", "prompt=x", "--sample", "42", ...here])
      assert.strictEqual(sampled.stdout, "LLM response: 42\n")
      const roots = yield* run(["call", "roots", "--root", "/a b", "--root", "file:///c", "--json", ...here])
      assert.deepStrictEqual(json(roots.stdout).structuredContent.roots, [
        { uri: "file:///a%20b", name: "a b" },
        { uri: "file:///c" }
      ])
    })
  )

  it.live("read prints text exactly, and describes bytes on a terminal unless written to a file", () =>
    Effect.gen(function* () {
      const text = yield* run(["read", "test://static-text", ...here])
      assert.strictEqual(text.stdout, "This is the content of the static text resource.")
      const bytes = yield* run(["read", "test://static-binary", ...here])
      assert.deepStrictEqual([bytes.code, bytes.stdout], [2, ""])
      assert.include(bytes.stderr, "use --output FILE")
      const shown = yield* run(["read", "test://static-binary", ...here], true)
      assert.deepStrictEqual([shown.code, shown.stdout], [0, "[resource test://static-binary, image/png, 69 bytes]\n"])
      const missing = yield* run(["read", "test://nothing", "--revision", "2025-11-25", ...here])
      assert.deepStrictEqual([missing.code, missing.stdout], [1, ""])
      assert.include(missing.stderr, "Resource not found: test://nothing (-32002, resource not found)")
    })
  )

  it.live("--output saves the bytes of a resource or result, or its text if it has none", () =>
    Effect.gen(function* () {
      const dir = yield* folder
      const save = (file: string, ...argv: ReadonlyArray<string>) =>
        Effect.map(run([...argv, "--output", join(dir, file), ...here]), ({ code, stderr, stdout }) => {
          assert.deepStrictEqual([code, stdout], [0, ""])
          assert.match(stderr, /^Wrote \d+ bytes to /)
          return readFileSync(join(dir, file))
        })
      const resource = yield* save("a.png", "read", "test://static-binary")
      const image = yield* save("b.png", "call", "test_image_content")
      assert.strictEqual(resource.subarray(1, 4).toString(), "PNG")
      assert.isTrue(resource.equals(image))
      assert.strictEqual((yield* save("c.txt", "call", "echo", "message=hi")).toString(), "hi")
    })
  )

  it.live("resources, prompts and prompt show the server's features", () =>
    Effect.gen(function* () {
      const resources = yield* run(["resources", ...here])
      assert.match(resources.stdout, /\n {2}test:\/\/static-text +Static text +text\/plain /)
      assert.include(resources.stdout, "\n\nResource templates (2)\n  test://template/{id}/data  Template")
      const prompts = json((yield* run(["prompts", "--json", ...here])).stdout)
      assert.isTrue(prompts.some(({ name }: any) => name === "test_prompt_with_arguments"))
      const prompt = yield* run(["prompt", "test_prompt_with_arguments", "arg1=a", "arg2=b", ...here])
      assert.include(prompt.stdout, "user:\n  Prompt with arguments: arg1='a', arg2='b'\n")
    })
  )

  it.live("complete suggests values for prompts and templates, using the given arguments", () =>
    Effect.gen(function* () {
      const prompt = "prompt:test_prompt_with_arguments"
      const settled = yield* run(["complete", prompt, "arg2=x", "arg1=tt", ...here])
      assert.strictEqual(settled.stdout, "x after tt\n")
      const template = yield* run(["complete", "test://template/{id}/data", "id=12", "--json", ...here])
      assert.deepStrictEqual(json(template.stdout).values, ["123", "124"])
      const nothing = yield* run(["complete", prompt, "arg1=zzz", ...here])
      assert.deepStrictEqual([nothing.code, nothing.stdout, nothing.stderr], [0, "", "No suggestions\n"])
    })
  )

  it.live("ping reports how long the answer took", () =>
    Effect.gen(function* () {
      assert.match((yield* run(["ping", ...here])).stdout, /^effect-mcp-everything answered in \d+\.\d ms\n$/)
      assert.isAbove(json((yield* run(["ping", "--json", ...raw()])).stdout).milliseconds, 0)
    })
  )
})

describe("effect-mcp with misbehaving servers", () => {
  const expectExit = (argv: ReadonlyArray<string>, code: number, stderr: string) =>
    Effect.map(run(argv), (ran) => assert.deepStrictEqual(ran, { code, stdout: "", stderr }))

  it.live("A command that fails to start is named, with exit code 3", () =>
    expectExit(
      ["tools", "--", "no-such-command-anywhere"],
      3,
      'error: The server could not be started: there is no command "no-such-command-anywhere" (or no such --cwd)\n'
    )
  )

  it.live("The tail of a crashed server's stderr is shown, with exit code 3", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* run(["call", "exit", ...raw()])
      assert.strictEqual(code, 3)
      assert.match(stderr, /^error: The connection to the server broke: .*exited with code 9\n/)
      assert.include(
        stderr,
        "  The end of its stderr:\n    raw server is up\n    about to fall\n    fatal: out of luck\n"
      )
      assert.notInclude(stderr, "    at ")
    })
  )

  it.live("--timeout ends a command with exit code 4", () =>
    expectExit(
      ["ping", "--timeout", "100ms", "--revision", "2025-11-25", ...raw("mute")],
      4,
      "error: The server did not respond to initialize in time\n"
    )
  )

  it.live("A server with an unknown revision is rejected with exit code 3", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* run(["ping", ...raw("future")])
      assert.strictEqual(code, 3)
      assert.include(stderr, "No common protocol revision")
    })
  )

  it.live("watch reprints a changed resource and reports when the server leaves", () =>
    Effect.gen(function* () {
      const watched = yield* run(["watch", "x://y", ...raw()])
      assert.deepStrictEqual([watched.code, watched.stdout], [3, "version 1\nversion 2\n"])
      assert.match(
        watched.stderr,
        /^\[watching\] x:\/\/y\n\[updated\] x:\/\/y\nerror: The connection to the server broke/
      )
      const events = (yield* run(["watch", "x://y", "--json", ...raw()])).stdout.trim().split("\n").map(json)
      assert.deepStrictEqual(events, [
        { event: "watching", uri: "x://y", contents: [{ uri: "x://y", text: "version 1" }] },
        { event: "updated", uri: "x://y", contents: [{ uri: "x://y", text: "version 2" }] }
      ])
    })
  )

  it.live("inspect shows a server's features even if some declared ones are missing", () =>
    Effect.gen(function* () {
      const missing = "[ignored] The server cannot list its resource templates\n"
      const inspected = yield* run(["inspect", ...raw()])
      assert.deepStrictEqual([inspected.code, inspected.stderr], [0, missing])
      assert.include(inspected.stdout, "Resources (1)\n  x://y  y")
      const listed = yield* run(["resources", ...raw()])
      assert.deepStrictEqual(listed, { code: 0, stdout: "Resources (1)\n  x://y  y\n", stderr: missing })
    })
  )

  it.live("A command reports which feature a server does not offer", () =>
    expectExit(["prompts", ...raw("bare")], 1, "error: The server does not support this (prompts)\n")
  )

  it.live("A result that violates its own schema is shown, then reported with exit code 3", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* run(["call", "liar", ...raw()])
      assert.strictEqual(code, 3)
      assert.include(stdout, "n is many\n")
      assert.match(stderr, /^error: The result breaks the tool's output schema: \/n /)
    })
  )

  it.live("A command reports junk on the wire and continues", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* run(["ping", ...raw("junk")])
      assert.strictEqual(code, 0)
      assert.match(stderr, /^\[ignored\] Not a JSON-RPC message: .*Server listening on port 3000!/)
    })
  )

  it.live("--verbose shows a server's stderr", () =>
    Effect.gen(function* () {
      assert.include((yield* run(["ping", "--verbose", ...raw()])).stderr, "[server] raw server is up\n")
      assert.strictEqual((yield* run(["ping", ...raw()])).stderr, "")
    })
  )

  it.live("A hostile server cannot write control characters to the terminal", () =>
    Effect.gen(function* () {
      const shown = [
        yield* run(["inspect", ...raw("evil")], true),
        yield* run(["tools", ...raw("evil")], true),
        yield* run(["call", "hi", ...raw("evil")], true),
        yield* run(["ping", ...raw("evil")], true)
      ]
      for (const { code, stderr, stdout } of shown) {
        assert.strictEqual(code, 0)
        assert.notInclude(stdout + stderr, "\u001b")
        assert.include(stdout, "\\u001b]52;c;")
      }
      assert.include((yield* run(["call", "hi", ...raw("evil")])).stdout, "hi\u001b]52;c;")
    })
  )

  it.live("Invalid base64 is reported as a server error", () =>
    Effect.gen(function* () {
      const dir = yield* folder
      const file = join(dir, "x")
      yield* expectExit(
        ["call", "blob", "--output", file, ...raw()],
        3,
        "error: The server sent bytes that are not base64\n"
      )
    })
  )
})

describe("Command line", () => {
  const wrong = (argv: ReadonlyArray<string>, complaint: string) =>
    Effect.map(run(argv), ({ code, stderr, stdout }) => {
      assert.deepStrictEqual([code, stdout], [2, ""], argv.join(" "))
      assert.include(stderr, complaint)
      assert.notInclude(stderr, "    at ")
    })

  it.live("An invalid command line exits with code 2 and an explanation", () =>
    Effect.all(
      [
        wrong([], "USAGE"),
        wrong(["tolls", ...raw()], "Unknown subcommand"),
        wrong(["tools"], "No server given: put its command or its URL after --"),
        wrong(["tools", "--"], "No server"),
        wrong(["tools", "--nope", ...raw()], "--nope"),
        wrong(["call", ...raw()], "name"),
        wrong(["ping", "--timeout", "soon", ...raw()], "--timeout soon is not a duration"),
        wrong(["ping", "--revision", "1.0", ...raw()], "revision"),
        wrong(["ping", "--decline", "--accept", ...raw()], "--decline contradicts"),
        wrong(["ping", "--answer", "x", ...raw()], `"x" is not an argument`),
        wrong(["ping", "--env", "x", ...raw()], `"x" is not an argument`),
        wrong(["call", "slow", "--args", "[]", ...raw()], "--args must be a JSON object"),
        wrong(["call", "slow", "n=x", ...raw()], "is not an integer"),
        wrong(["complete", "prompt:x", ...raw()], "the argument to complete")
      ],
      { discard: true }
    )
  )

  it.live("--help lists each command on one line, without flags, on a single page", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* run(["--help"])
      assert.deepStrictEqual([code, stderr], [0, ""])
      const lines = stdout.trimEnd().split("\n")
      assert.isAtMost(lines.length, 46)
      for (const line of lines) assert.isAtMost(line.length, 80, line)
      for (const name of ["inspect", "tools", "call", "read", "watch", "prompt", "complete", "ping", "proxy", "login"])
        assert.match(stdout, new RegExp(`^  ${name} +[A-Z]`, "m"))
      assert.include(stdout, "effect-mcp inspect -- node server.js")
      assert.match(stdout, /effect-mcp <command> --help$/m)
      assert.notInclude(stdout, "--verbose")
    })
  )

  it.live("--help for an unknown command is a usage error", () =>
    Effect.gen(function* () {
      for (const argv of [["nosuch", "--help"], ["nosuch", "-h"], ["nosuch"]]) {
        const { code, stderr, stdout } = yield* run(argv)
        assert.deepStrictEqual([code, stdout], [2, ""])
        assert.include(stderr, 'Unknown subcommand "nosuch"')
      }
    })
  )

  it.live("--help for a command without a server lists only applicable flags", () =>
    Effect.gen(function* () {
      for (const [argv, kept] of [
        [["list"], ["--json"]],
        [
          ["audit", "verify"],
          ["--json", "--closed"]
        ],
        [["top"], ["--json", "--header"]],
        [["install"], ["--json", "--env", "--cwd", "--header", "--transport", "--project"]]
      ] as const) {
        const { stdout } = yield* run([...argv, "--help"])
        for (const flag of kept) assert.match(stdout, new RegExp(`^  ${flag}\\b`, "m"))
        for (const flag of ["--sample", "--log-level", "--revision", "--accept"]) assert.notInclude(stdout, `  ${flag}`)
      }
    })
  )

  it.live("complete explains how to write an argument and its prefix", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* run(["complete", "ref", "city", "o", ...here])
      assert.deepStrictEqual([code, stderr.includes("as one word: city=o")], [2, true], stderr)
    })
  )

  it.live("--help for a command explains its usage, with examples and exit codes", () =>
    Effect.gen(function* () {
      for (const name of [
        "inspect",
        "tools",
        "call",
        "resources",
        "read",
        "watch",
        "prompts",
        "prompt",
        "complete",
        "ping"
      ]) {
        const { code, stderr, stdout } = yield* run([name, "--help"])
        assert.deepStrictEqual([code, stderr], [0, ""])
        assert.match(stdout, new RegExp(`effect-mcp ${name} .*-- <server command or URL>`))
        assert.match(stdout, new RegExp(`EXAMPLES\n[^]*effect-mcp ${name} [^]*-- node server.js`))
        assert.include(stdout, "EXIT CODES\n  0    all went well\n")
      }
      assert.match((yield* run(["--version"])).stdout, /^effect-mcp \d+\.\d+\.\d+\n$/)
    })
  )

  it.live("--env and --cwd reach the server, and no other environment variables do", () =>
    Effect.gen(function* () {
      const print =
        "process.stderr.write(JSON.stringify(['seen', process.env.A, process.env.VITEST ?? null, process.cwd()])); process.exit(1)"
      const { stderr } = yield* run(["ping", "--env", "A=1", "--cwd", "/", "--", process.execPath, "-e", print])
      const line = stderr.split("\n").find((line) => line.includes(`"seen"`))
      assert.isDefined(line)
      assert.deepStrictEqual(json(line), ["seen", "1", null, "/"])
    })
  )
})

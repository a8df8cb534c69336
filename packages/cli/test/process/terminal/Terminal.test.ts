/** Text from a server reaches the terminal only as visible characters, in every command and every field. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { run } from "@effect-mcp/cli/Cli"
import * as Output from "@effect-mcp/cli/Output"
import * as Proxy from "@effect-mcp/cli/Proxy"
import * as Questions from "@effect-mcp/cli/Questions"
import type { Settings } from "@effect-mcp/cli/Settings"
import * as Style from "@effect-mcp/cli/Style"
import { Elicitation } from "@effect-mcp/core/Elicitation"
import type { ElicitParams } from "@effect-mcp/protocol/model/Elicitation"
import * as Memory from "@effect-mcp/core/Memory"
import * as McpClient from "@effect-mcp/client/McpClient"
import { McpServer } from "@effect-mcp/server"
import { Context, Effect, Layer, Schema } from "effect"
import { dangerous, evil, form, hostile, targetOf } from "../../support/hostile.ts"
import { capture } from "../../support/run.ts"
import { person } from "../../support/terminal.ts"

/** Runs the command on a terminal with colours. Returns everything it wrote. */
const shown = (argv: ReadonlyArray<string>, mode = "plain") =>
  Effect.gen(function* () {
    const screen = capture(true, 80)
    const output = yield* Output.make({ env: {}, stdin: {}, stdout: screen.stream, stderr: screen.stream })
    yield* Effect.provide(
      run([...argv, "--revision", "2025-11-25", "--", mode], targetOf),
      Layer.merge(NodeServices.layer, Layer.succeed(Output.Output, output)),
      { local: true }
    )
    return screen.text()
  })

const settings = { accept: false, answers: [], decline: false, yes: false }

const proxied: Settings = {
  ...settings,
  json: false,
  verbose: false,
  timeout: undefined,
  revision: undefined,
  config: undefined,
  server: undefined,
  lock: undefined,
  policy: undefined,
  sandbox: undefined,
  env: {},
  cwd: undefined,
  headers: {},
  transport: "auto",
  roots: [],
  sample: undefined,
  logLevel: undefined
}

/** Asks a scripted person one question, and returns their answer and screen. */
const ask = (params: ElicitParams, scripts: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { layer, output, screen } = person(scripts)
    const elicitation = Questions.elicitation({ server: "server", settings, output })
    assert.isDefined(elicitation)
    const answer = yield* Effect.flatMap(Elicitation, (service) => service.elicit(params)).pipe(
      Effect.provide(Layer.provide(elicitation, layer), { local: true })
    )
    return { answer, screen: screen() }
  })

/** The screen without the cursor movements of prompts. Escapes in the server's text remain. */
const untouched = (screen: string): string => {
  assert.notInclude(screen, "\u001b[2J\u001b[31mRED")
  // oxlint-disable-next-line no-control-regex -- what prompts draw with
  return screen.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "")
}

const commands: ReadonlyArray<readonly [argv: ReadonlyArray<string>, mode?: string]> = [
  [["inspect"]],
  [["tools"]],
  [["tools", "ok"]],
  [["call", "ok"]],
  [["call", "log", "--log-level", "debug"]],
  [["call", "log", "--progress"]],
  [["call", "error"]],
  [["call", "refuse"]],
  [["call", "liar"]],
  [["call", "structured"]],
  [["call", "form", "--accept"]],
  [["call", "form", "--answer", "one=other"]],
  [["call", "structured", "--output", "-"]],
  [["resources"]],
  [["read", "x://y"]],
  [["read", "x://y", "--output", "-"]],
  [["prompts"]],
  [["prompt", "p"]],
  [["complete", "prompt:p", "a=b"]],
  [["ping", "--verbose"]],
  [["ping"], "refuses"],
  [["tools"], "refuses"],
  [["tools", "--verbose"], "refuses"],
  [["ping"], "dead"],
  [["ping", "--verbose"], "dead"],
  [["inspect"], "junk"]
]

/** Rows whose JSON contains no text from the server. */
const wordless = new Set(["ping --verbose --json"])

describe("Server text on the terminal", () => {
  for (const [argv, mode] of commands) {
    for (const json of [false, true]) {
      const words = [...argv, ...(json ? ["--json"] : [])].join(" ")
      it.live(
        `The output of effect-mcp ${words} (${mode ?? "plain"} server) has no active or invisible characters`,
        () =>
          Effect.map(shown(words.split(" "), mode), (text) => {
            assert.deepStrictEqual(dangerous(text), [], text)
            // Its marks show that the text did reach the screen.
            if (!wordless.has(words)) assert.match(text, /\\u202e/, text)
          })
      )
    }
  }

  it.effect("A question's text, choices and default are escaped, and the default is sent as the server wrote it", () =>
    Effect.gen(function* () {
      const { answer, screen } = yield* ask(form, ["<enter>", "<enter>", "<enter>", "<space><enter>", "<enter>"])
      const [name = ""] = Object.keys(form.requestedSchema.properties)
      assert.strictEqual(answer.action, "accept")
      assert.strictEqual(answer.content?.[name], `text${evil}`)
      const drawn = untouched(screen)
      assert.match(drawn, /\\u202e/)
      assert.deepStrictEqual(dangerous(drawn), [], drawn)
    })
  )

  it.effect("A page's address and a sampling request's content are escaped", () =>
    Effect.gen(function* () {
      const message = `text${evil}`
      const page = yield* ask({ mode: "url", message, url: `https://e.com/${evil}`, elicitationId: "1" }, ["<enter>"])
      const { layer, output, screen } = person(["<enter>"])
      const policy = yield* Effect.provide(Questions.consent({ server: message, settings, output }), layer)
      const content = [{ type: "text", text: message }] as const
      const params = { messages: [{ role: "user", content }], maxTokens: 1 } as const
      assert.isTrue(yield* policy.ask({ _tag: "CreateMessage", server: { name: message, version: "1" }, params }))
      for (const text of [page.screen, screen()].map(untouched)) {
        assert.match(text, /\\u202e/)
        assert.deepStrictEqual(dangerous(text), [], text)
      }
    })
  )

  it.effect("The stderr of a server behind effect-mcp proxy is escaped", () =>
    Effect.gen(function* () {
      const notes: Array<string> = []
      const gateway = Proxy.gateway(hostile("plain"), proxied, 1, (text) => Effect.sync(() => void notes.push(text)))
      const { connect } = Context.get(
        yield* Effect.provide(Layer.build(gateway), NodeServices.layer),
        McpServer.McpServer
      )
      const [client, server] = yield* Memory.pair()
      yield* Effect.forkScoped(connect(server))
      yield* (yield* McpClient.open(Effect.succeed(client))).ping
      assert.match(notes.join("\n"), /\\u202e/)
      assert.deepStrictEqual(dangerous(notes.join("\n")), [])
    })
  )
})

describe("Unmatched answers", () => {
  it.live("An unmatched answer is only reported with --verbose, because a slow server may answer late", () =>
    Effect.gen(function* () {
      assert.notInclude(yield* shown(["ping"], "junk"), "[ignored]")
      assert.include(yield* shown(["ping", "--verbose"], "junk"), "[ignored] A response to an unknown request")
    })
  )
})

describe("Escapes", () => {
  it.prop("Escaping leaves only visible characters in any text", [Schema.String], ([text]) => {
    assert.deepStrictEqual(dangerous(Style.safe(text + evil)), [])
    assert.notMatch(Style.safeLine(text + evil), /[\n\t]/)
  })

  it.prop("Escaping keeps a JSON text's value", [Schema.String], ([text]) => {
    const json = Style.safeJson(JSON.stringify([text, evil]))
    assert.deepStrictEqual([JSON.parse(json), dangerous(json)], [[text, evil], []])
  })

  it("Escaping keeps letters in any script, emoji, tabs and newlines", () => {
    const text = "a\tb\nÅ ß 日本 हिन्दी العربية ❤\ufe0f 👍🏽"
    assert.strictEqual(Style.safe(text), text)
  })

  it.effect("Output escapes all text on a terminal, even if a command forgets to", () =>
    Effect.gen(function* () {
      const screen = capture(true, 80)
      const output = yield* Output.make({ env: {}, stdin: {}, stdout: screen.stream, stderr: screen.stream })
      yield* output.note(evil)
      yield* output.line(evil)
      yield* output.live(evil)
      yield* output.exclusive((say) => say(evil))
      assert.deepStrictEqual(dangerous(screen.text().replaceAll("\u001b[31mRED", "")), [])
    })
  )
})

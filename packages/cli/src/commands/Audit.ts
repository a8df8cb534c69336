/** `effect-mcp audit verify`: whether an audit trail is what was written. Asks no server. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { code, silent, usage } from "../terminal/Exit.ts"
import { Output } from "../terminal/Output.ts"
import { json, table } from "../render/Text.ts"
import * as Settings from "../target/Settings.ts"
import { safeLine } from "../terminal/Style.ts"

/** The environment variable of the key: an argument would be seen by every user of the machine. */
const keyName = "EFFECT_MCP_AUDIT_KEY"

const verify = Command.make(
  "verify",
  {
    file: Argument.String("file").pipe(Argument.withDescription("The audit trail, as Audit.layerFile writes it")),
    head: Flag.String("head").pipe(
      Flag.withMetavar("HASH"),
      Flag.withDescription("The hash of its last record when it was read before: finds an end that was cut off"),
      Flag.optional
    ),
    closed: Flag.Boolean("closed").pipe(
      Flag.withDescription("The server has ended in order: fail if the last record does not say so"),
      Flag.withDefault(false),
      Flag.withoutNegation
    )
  },
  Effect.fnUntraced(function* ({ closed: mustBeClosed, file, head }) {
    // Loaded when needed: the other commands need none of it.
    const Audit = yield* Effect.promise(() => import("@effect-mcp/operate/Audit"))
    const output = yield* Output
    const settings = yield* Settings.settings
    const files = yield* FileSystem.FileSystem
    const secret = process.env[keyName]
    const report = yield* Audit.verify(files.stream(file).pipe(Stream.decodeText(), Stream.splitLines), {
      head: Option.getOrUndefined(head),
      key: secret === undefined ? undefined : Redacted.make(secret)
    }).pipe(Effect.mapError(({ message }) => usage(`${file} cannot be read: ${message}`)))
    const { closed, from, problems, records, to } = report
    const rows = [
      ["records", String(records)],
      ["from", safeLine(from ?? "")],
      ["to", safeLine(to ?? "")],
      ["last hash", report.head],
      ["ends", closed ? "in order" : "open: the server runs, has crashed, or the end was cut off"],
      ...problems.map(({ line, reason }) => [`line ${line}`, reason])
    ]
    yield* output.line(settings.json ? json(report) : table(rows, output.width))
    yield* problems.length === 0 && records > 0 && (closed || !mustBeClosed) ? Effect.void : silent(code.server)
  })
).pipe(
  Command.withDescription(
    `Check that no line of an audit trail was changed, left out or put in. A key is taken from ${keyName}`
  ),
  Command.withExamples([
    { command: "effect-mcp audit verify audit.jsonl" },
    { command: "effect-mcp audit verify --closed audit.jsonl", description: "Of a server that was stopped" }
  ])
)

export const audit = Command.make("audit").pipe(
  Command.withDescription("Check the audit trail of a server"),
  Command.withSubcommands([verify])
)

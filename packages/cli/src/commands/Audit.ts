/** `effect-mcp audit verify`: checks that an audit log was not tampered with. Needs no server. */
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

/** Environment variable for the key. All users of the machine could see an argument. */
const keyName = "EFFECT_MCP_AUDIT_KEY"

const verify = Command.make(
  "verify",
  {
    file: Argument.String("file").pipe(Argument.withDescription("The audit trail, written by Audit.layerFile")),
    head: Flag.String("head").pipe(
      Flag.withMetavar("HASH"),
      Flag.withDescription("The last record's hash from an earlier check: detects a truncated end"),
      Flag.optional
    ),
    closed: Flag.Boolean("closed").pipe(
      Flag.withDescription("Fail unless the last record shows that the server was shut down properly"),
      Flag.withDefault(false),
      Flag.withoutNegation
    )
  },
  Effect.fnUntraced(function* ({ closed: mustBeClosed, file, head }) {
    // Loaded on demand, because only this command needs it.
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
      ["ends", closed ? "in order" : "open: the server is running or has crashed, or the end was cut off"],
      ...problems.map(({ line, reason }) => [`line ${line}`, reason])
    ]
    yield* output.line(settings.json ? json(report) : table(rows, output.width))
    yield* problems.length === 0 && records > 0 && (closed || !mustBeClosed) ? Effect.void : silent(code.server)
  })
).pipe(
  Command.withDescription(
    `Check that no line of an audit trail was changed, removed or added. Reads the key from ${keyName}`
  ),
  Command.withExamples([
    { command: "effect-mcp audit verify audit.jsonl" },
    { command: "effect-mcp audit verify --closed audit.jsonl", description: "For a server that was stopped" }
  ])
)

export const audit = Command.make("audit").pipe(
  Command.withDescription("Check the audit trail of a server"),
  Command.withSubcommands([verify])
)

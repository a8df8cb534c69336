/** `effect-mcp lock` and `verify`: pin a server's offer in a file, and compare the offer with the file later. */
import type { PinFinding } from "@effect-mcp/host/Finding"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type View, json, table } from "../render/Text.ts"
import * as Session from "../session/Session.ts"
import { code, CommandFailure, silent, usage } from "../terminal/Exit.ts"
import { safeLine } from "../terminal/Style.ts"

const defaultFile = "mcp.lock.json"

const flags = {
  name: Flag.String("name").pipe(
    Flag.withDescription("The server's name in the lock file. Default: --server, or the words after --"),
    Flag.optional
  )
}

/** Loaded on demand, because only these commands need it. */
const loaded = Effect.promise(() =>
  Promise.all([
    import("@effect-mcp/host/Finding"),
    import("@effect-mcp/host/LockFile"),
    import("@effect-mcp/host/Offer")
  ])
)

/** Returns the pins in the lock file, the server's offer, and the differences. */
const compared = Effect.fnUntraced(function* (session: Session.CommandSession, given: Option.Option<string>) {
  const { client, settings } = session
  const [Findings, LockFile, Offer] = yield* loaded
  const file = settings.lock ?? defaultFile
  const name = Option.getOrElse(given, () => session.pinName)
  const pinned = yield* Effect.mapError(LockFile.read(file), ({ message }) => usage(message))
  const offer = yield* Offer.read(client)
  return { Findings, LockFile, Offer, file, findings: Findings.compare(pinned, name, offer), name, offer, pinned }
})

const listing = ({ style }: View, findings: ReadonlyArray<PinFinding>): string =>
  table(
    findings.map(({ code, message, verdict }) => [
      verdict === "harmless" ? style.dim(verdict) : style.red(verdict),
      code,
      safeLine(message)
    ])
  )

export const lock = Command.make(
  "lock",
  {
    ...flags,
    suspicious: Flag.Boolean("suspicious").pipe(
      Flag.withDescription("Pin suspicious items, too, after you have looked at them"),
      Flag.withDefault(false),
      Flag.withoutNegation
    )
  },
  ({ name, suspicious: pinsSuspicious }) =>
    Session.use(
      Effect.fnUntraced(function* (session) {
        const { output, settings } = session
        const found = yield* compared(session, name)
        const { file, findings, Findings, LockFile, Offer, offer, pinned } = found
        const suspicious = findings.filter(Findings.isSuspicious)
        if (suspicious.length > 0 && !pinsSuspicious) {
          if (settings.json) yield* output.line(json({ file, server: found.name, pinned: false, findings }))
          else yield* output.line(listing(output, suspicious))
          return yield* new CommandFailure({
            code: code.server,
            message:
              "Nothing was pinned, because the server's texts look suspicious. Look at them, and use --suspicious to pin them"
          })
        }
        const write = LockFile.write(file, new Map([...pinned, [found.name, offer]]))
        yield* Effect.mapError(write, ({ message }) => usage(message))
        if (settings.json) return yield* output.line(json({ file, server: found.name, pinned: true, findings }))
        if (findings.length > 0) yield* output.line(listing(output, findings))
        const counts = Array.from(
          offer.lists,
          ([list, { size }]) => `${size} ${Offer.pinnedLists[list].noun}${size === 1 ? "" : "s"}`
        )
        return yield* output.line(`Pinned ${counts.join(", ")} of ${safeLine(found.name)} in ${safeLine(file)}`)
      }),
      { ignoresGuards: true }
    )
).pipe(
  Command.withDescription(
    "Pin a server's tools, prompts, resources and skills in a lock file (mcp.lock.json, or --lock)"
  ),
  Command.withShortDescription("Pin what a server offers in a lock file"),
  Command.withExamples([
    { command: "effect-mcp lock -- npx -y some-server@1.2.3", description: "Write mcp.lock.json, or update it" },
    { command: "effect-mcp lock --config .mcp.json --server github", description: "A server of a host" }
  ])
)

export const verify = Command.make("verify", flags, ({ name }) =>
  Session.use(
    Effect.fnUntraced(function* (session) {
      const { output, settings } = session
      const { file, findings, name: server, pinned } = yield* compared(session, name)
      if (!pinned.has(server)) {
        return yield* usage(`${file} has no server ${server}. It has ${[...pinned.keys()].join(", ") || "none"}`)
      }
      if (settings.json) yield* output.line(json({ file, server, findings }))
      else if (findings.length > 0) yield* output.line(listing(output, findings))
      if (findings.some(({ verdict }) => verdict !== "harmless")) return yield* silent(code.server)
      return yield* settings.json ? Effect.void : output.line(`${safeLine(server)} is as pinned in ${safeLine(file)}`)
    }),
    { ignoresGuards: true }
  )
).pipe(
  Command.withDescription("Compare a server with its pins; exit code 1 if something needs your approval"),
  Command.withShortDescription("Compare a server with its lock file"),
  Command.withExamples([
    { command: "effect-mcp verify -- npx -y some-server@1.3.0", description: "The differences from mcp.lock.json" },
    { command: "effect-mcp verify --json --lock pins.json -- ./server", description: "For scripts and CI" }
  ])
)

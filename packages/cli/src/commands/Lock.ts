/** `effect-mcp lock` and `verify`: pin a server's offer in a file, and compare the offer with the file later. */
import type { PinFinding } from "@effect-mcp/host/Finding"
import type { OfferDifference } from "@effect-mcp/host/Offer"
import { beginning, excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type View, indent, json, table } from "../render/Text.ts"
import * as Session from "../session/Session.ts"
import { code, CommandFailure, silent, usage } from "../terminal/Exit.ts"
import { safeLine } from "../terminal/Style.ts"

const defaultFile = "mcp.lock.json"

const flags = {
  name: Flag.String("name").pipe(
    Flag.withDescription(
      "The server's name in the lock file. Default: --server, or the words after -- without the version of an npx package"
    ),
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

/** Maximum length of an old or new value as text and in `--json`, in UTF-16 units. */
const maxShown = 500
const maxJson = 10_000
/** Maximum length of the unchanged beginning of a value that is shown, so that a change at the end of a long text is visible. */
const maxCommon = 60
/** Maximum number of old and new values to show as text. */
const maxDifferences = 100

/** Returns the pins in the lock file, the server's offer, and the differences. */
const compared = Effect.fnUntraced(function* (session: Session.CommandSession, given: Option.Option<string>) {
  const { client, settings } = session
  const [Findings, LockFile, Offer] = yield* loaded
  const file = settings.lock ?? defaultFile
  const name = Option.getOrElse(given, () => session.pinName)
  const pinned = yield* Effect.mapError(LockFile.read(file), ({ message }) => usage(message))
  const offer = yield* Offer.read(client)
  const findings = Findings.compare(pinned, name, offer)
  const found = new Set(findings.map(({ item, list }) => `${list} ${item}`))
  const changes = Offer.differences(pinned.get(name) ?? Offer.empty, offer).filter(({ item, list }) =>
    found.has(`${list} ${item}`)
  )
  return { Findings, LockFile, Offer, changes, file, findings, name, offer, pinned }
})

/** Shortens a value for `--json`. */
const shortened = (value: unknown): unknown => {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? "")
  return text.length <= maxJson ? value : beginning(text, maxJson)
}

/** Formats the changes for `--json`. */
const changesJson = (changes: ReadonlyArray<OfferDifference>) =>
  changes.map(({ after, before, ...place }) => ({ ...place, before: shortened(before), after: shortened(after) }))

/** Formats the old and the new value, without most of the text with which both begin. */
const oldAndNew = ({ after, before }: OfferDifference, { style }: View): ReadonlyArray<string> => {
  const [was, is] = [JSON.stringify(before ?? ""), JSON.stringify(after ?? "")]
  let same = 0
  while (same < was.length && was[same] === is[same]) same++
  const from = same > maxCommon ? same - maxCommon / 2 : 0
  const shown = (text: string) => `${from > 0 ? "…" : ""}${excerpt(text.slice(from), maxShown)}`
  return [
    ...(before === undefined ? [] : [style.red(`- ${shown(was)}`)]),
    ...(after === undefined ? [] : [style.green(`+ ${shown(is)}`)])
  ]
}

const listing = (
  view: View,
  findings: ReadonlyArray<PinFinding>,
  differences: ReadonlyArray<OfferDifference>
): string => {
  const { style } = view
  const verdicts = table(
    findings.map(({ code, message, verdict }) => [
      verdict === "harmless" ? style.dim(verdict) : style.red(verdict),
      code,
      safeLine(message)
    ])
  )
  const values = differences
    .slice(0, maxDifferences)
    .map((difference) =>
      [
        excerpt([difference.list, difference.item, difference.path].filter((part) => part !== "").join(" ")),
        ...oldAndNew(difference, view).map((line) => indent(line))
      ].join("\n")
    )
  const more = differences.length - values.length
  return [verdicts, ...values, ...(more > 0 ? [`${more} more changes: see --json`] : [])].join("\n")
}

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
        const { changes, file, findings, Findings, LockFile, Offer, offer, pinned } = found
        const suspicious = findings.filter(Findings.isSuspicious)
        const document = { file, server: found.name, findings, changes: changesJson(changes) }
        if (suspicious.length > 0 && !pinsSuspicious) {
          if (settings.json) yield* output.line(json({ ...document, pinned: false }))
          else yield* output.line(listing(output, suspicious, []))
          return yield* new CommandFailure({
            code: code.server,
            message:
              "Nothing was pinned, because the server's texts look suspicious. Look at them, and use --suspicious to pin them"
          })
        }
        const write = LockFile.write(file, new Map([...pinned, [found.name, offer]]))
        yield* Effect.mapError(write, ({ message }) => usage(message))
        if (settings.json) return yield* output.line(json({ ...document, pinned: true }))
        if (findings.length > 0) yield* output.line(listing(output, findings, changes))
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

/** Returns the error for a server that the lock file does not have. */
const noPin = (file: string, server: string, names: ReadonlyArray<string>): CommandFailure => {
  const missing = `${safeLine(file)} has no pins for ${safeLine(server)}`
  if (names.length === 0) return usage(`${missing}, and none for another server. Run effect-mcp lock first`)
  const quoted = names.map((name) => safeLine(JSON.stringify(name)))
  return usage(`${missing}, only for ${quoted.join(", ")}. If it is one of these, add --name NAME`)
}

export const verify = Command.make("verify", flags, ({ name }) =>
  Session.use(
    Effect.fnUntraced(function* (session) {
      const { output, settings } = session
      const { changes, file, findings, name: server, pinned } = yield* compared(session, name)
      if (!pinned.has(server)) return yield* noPin(file, server, [...pinned.keys()])
      if (settings.json) yield* output.line(json({ file, server, findings, changes: changesJson(changes) }))
      else if (findings.length > 0) yield* output.line(listing(output, findings, changes))
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

/**
 * Asks a server which revisions it speaks and what it offers in each, in conversations of their own.
 */
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type { Command } from "./model/Script.ts"
import * as Survey from "./model/Survey.ts"
import { withTasks } from "./model/TaskBook.ts"
import { play } from "./Player.ts"
import type { Played } from "./Played.ts"
import { type Target, TargetError } from "./target/Target.ts"

/** Before it, HTTP was another transport, HTTP with SSE. */
const firstOverHttp = "2025-03-26"

/** The pages of a list that are read. */
const maxPages = 5

const lists = Object.entries(MethodInfo.clientRequests).flatMap(
  ([method, info]: readonly [string, MethodInfo.ClientRequestInfo]) => (info.paginated === true ? [method] : [])
)

const wait: Command = { _tag: "Wait" }
const listing: ReadonlyArray<Command> = lists.flatMap((method): ReadonlyArray<Command> => [
  { _tag: "Request", method },
  wait,
  ...Array.from({ length: maxPages - 1 }, (): ReadonlyArray<Command> => [{ _tag: "NextPage", method }, wait]).flat()
])

/** A server may hide tools that are always tasks from a client without the extension. */
const listingWithTasks: ReadonlyArray<Command> = [
  { _tag: "Request", method: "tools/list", params: { _meta: withTasks } },
  wait
]

const ask = (
  target: Target,
  { era, version }: Revision.Revision,
  patience: number
): Effect.Effect<Played, TargetError> => {
  const discover: Command = { _tag: "Request", method: "server/discover" }
  const isStateless = era === "stateless"
  const opening: ReadonlyArray<Command> = isStateless ? [discover, wait] : [{ _tag: "Open" }]
  // The features are listed even where they are not declared: that a server has them undeclared is for the rules.
  const commands = [...opening, ...listing, ...(isStateless ? listingWithTasks : [])]
  // A process may take long to start.
  return play(target, Survey.unknown(version), { revision: version, commands }, { rules: [], patience, closing: false })
}

/** Whether the server took part in this revision. */
const speaks = (survey: Survey.Survey, agreed: string | undefined): boolean =>
  Revision.get(survey.revision)?.era === "stateless"
    ? Object.keys(survey.capabilities).length > 0
    : agreed === survey.revision

/**
 * What the server offers in each of these revisions that it speaks. Default: all of them. Fails where it speaks none of them.
 */
export const survey = (
  target: Target,
  {
    patience = 5000,
    revisions = Revision.all
  }: {
    readonly patience?: number | undefined
    readonly revisions?: ReadonlyArray<Revision.Revision> | undefined
  } = {}
): Effect.Effect<ReadonlyArray<Survey.Survey>, TargetError> =>
  Effect.gen(function* () {
    const possible = revisions.filter(({ version }) => target.transport !== "http" || version >= firstOverHttp)
    const asked = yield* Effect.forEach(possible, (revision) => ask(target, revision, patience), { concurrency: 2 })
    const spoken = asked
      .map((played) => [played.survey(), played.agreed] as const)
      .filter(([survey, agreed]) => speaks(survey, agreed))
    const versions = possible.map(({ version }) => version).join(", ")
    if (spoken.length > 0) return spoken.map(([survey]) => survey)
    const words = asked.flatMap(({ lines }) => lines.find(({ from }) => from === "server")?.text ?? [])
    const seen = words[0] === undefined ? "it sent nothing" : `its first words: ${words[0].slice(0, 200)}`
    const ended = asked.find(({ ended }) => ended !== undefined)?.ended
    const message = `${target.name} speaks none of ${versions}; ${seen}${ended === undefined ? "" : `; ${ended}`}`
    return yield* new TargetError({ message })
  })

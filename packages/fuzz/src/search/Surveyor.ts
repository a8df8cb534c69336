/** Finds out which revisions a server supports and which features it offers in each. Uses separate conversations for this. */
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import { at } from "../model/json.ts"
import type { Observations } from "../model/Observation.ts"
import type { Rule } from "../model/Rule.ts"
import type { Command } from "../model/Script.ts"
import * as Survey from "../model/Survey.ts"
import { withTasks } from "../model/TaskBook.ts"
import { withViews } from "../model/views.ts"
import { play } from "../play/Player.ts"
import { hasSkills } from "../generator/skills.ts"
import type { Played } from "../play/Played.ts"
import { type Target, TargetError } from "../target/Target.ts"

/** First revision with Streamable HTTP. */
const firstOverHttp = "2025-03-26"

/** Maximum number of pages to read from a list. */
const maxPages = 5

const wait: Command = { _tag: "Wait" }
const pages = (method: string): ReadonlyArray<Command> => [
  { _tag: "Request", method },
  wait,
  ...Array.from({ length: maxPages - 1 }, (): ReadonlyArray<Command> => [{ _tag: "NextPage", method }, wait]).flat()
]
const listing: ReadonlyArray<Command> = Object.values(MethodInfo.lists).flatMap(({ method }) => pages(method))

/** Lists tools with extensions declared. Without them, a server may hide tools that run as tasks, and tools for views. */
const listingWithExtensions: ReadonlyArray<Command> = [withTasks, withViews].flatMap((meta): ReadonlyArray<Command> => [
  { _tag: "Request", method: "tools/list", params: { _meta: meta } },
  wait
])

/** Checks whether the opening was answered correctly. If not, no list is waited for. */
const openedRule = ({ era, version }: Revision.Revision): { readonly rule: Rule; readonly isOpened: () => boolean } => {
  let opened = false
  const opens = ({ answer, exchange: { method } }: Observations["Answered"]): boolean =>
    answer._tag === "Result" &&
    (era === "stateless"
      ? method === "server/discover"
      : method === "initialize" && at(answer.result, "protocolVersion") === version)
  const rule: Rule = {
    name: "opened",
    level: "robustness",
    text: "The opening is answered.",
    on: {
      Answered: (observation) => {
        opened ||= opens(observation)
        return undefined
      }
    }
  }
  return { rule, isOpened: () => opened }
}

const ask = (target: Target, revision: Revision.Revision, patience: number): Effect.Effect<Played, TargetError> => {
  const { era, version } = revision
  const discover: Command = { _tag: "Request", method: "server/discover" }
  const isStateless = era === "stateless"
  const opening: ReadonlyArray<Command> = isStateless ? [discover, wait] : [{ _tag: "Open" }]
  // Features are listed even if they are not declared. The rules judge undeclared features.
  const commands = [...opening, ...listing, ...(isStateless ? listingWithExtensions : [])]
  const { isOpened, rule } = openedRule(revision)
  // The process may start slowly.
  return play(
    target,
    Survey.unknown(version),
    { revision: version, commands },
    {
      rules: [rule],
      patience,
      closing: false,
      hopeful: ({ method }) => isOpened() || method === "server/discover" || method === "initialize"
    }
  )
}

/** Adds the skills to the survey of a server that declares the extension. */
const withSkills = (target: Target, survey: Survey.Survey, patience: number) =>
  hasSkills(survey)
    ? Effect.map(
        play(
          target,
          survey,
          { revision: survey.revision, commands: pages("skills/list") },
          { rules: [], patience, closing: false }
        ),
        (played) => played.survey()
      )
    : Effect.succeed(survey)

/** True if the server accepted this revision. */
const speaks = (survey: Survey.Survey, agreed: string | undefined): boolean =>
  Revision.get(survey.revision)?.era === "stateless"
    ? Object.keys(survey.capabilities).length > 0
    : agreed === survey.revision

/** Returns the error for a server that supports no revision. */
const speaksNone = (
  target: Target,
  possible: ReadonlyArray<Revision.Revision>,
  asked: ReadonlyArray<Played>
): TargetError => {
  const versions = possible.map(({ version }) => version).join(", ")
  if (asked.length === 0) return new TargetError({ message: `${target.name} did not respond in time` })
  const words = asked.flatMap(({ lines }) => lines.find(({ from }) => from === "server")?.text ?? [])
  const seen = words[0] === undefined ? "it sent nothing" : `its first output: ${words[0].slice(0, 200)}`
  const ended = asked.find(({ ended }) => ended !== undefined)?.ended
  const message = `${target.name} supports none of ${versions}; ${seen}${ended === undefined ? "" : `; ${ended}`}`
  return new TargetError({ message })
}

export interface Options {
  /** How long a request may take before it counts as unanswered, in milliseconds. Default 5000. */
  readonly patience?: number | undefined
  /** Revisions to try. Default: all. */
  readonly revisions?: ReadonlyArray<Revision.Revision> | undefined
  /** Time limit for the survey. After half of it, revisions that haven't responded are skipped if another one has. Default 1 minute. */
  readonly time?: Duration.Input | undefined
}

/** Returns the features the server offers in each revision it supports. Fails if it supports none of them. */
export const survey = Effect.fnUntraced(function* (
  target: Target,
  { patience = 5000, revisions = Revision.all, time = "1 minute" }: Options = {}
): Effect.fn.Return<ReadonlyArray<Survey.Survey>, TargetError> {
  const possible = revisions.filter(({ version }) => target.transport !== "http" || version >= firstOverHttp)
  const half = Duration.toMillis(Duration.fromInputUnsafe(time)) / 2
  const asked: Array<Played> = []
  const spoken = new Map<string, Survey.Survey>()
  const first = Latch.makeUnsafe(false)
  const asking = (revision: Revision.Revision) =>
    Effect.gen(function* () {
      const played = yield* ask(target, revision, patience)
      asked.push(played)
      const survey = played.survey()
      if (!speaks(survey, played.agreed)) return
      spoken.set(survey.revision, yield* withSkills(target, survey, patience))
      first.openUnsafe()
    })
  const all = Effect.forEach(possible.toReversed(), asking, { concurrency: 2, discard: true })
  const fiber = yield* Effect.forkChild(all)
  const rest = Effect.suspend(() =>
    spoken.size > 0 ? Effect.void : Effect.timeoutOption(Effect.raceFirst(Fiber.join(fiber), first.await), half)
  )
  yield* Effect.ensuring(Effect.andThen(Effect.timeoutOption(Fiber.join(fiber), half), rest), Fiber.interrupt(fiber))
  const surveys = possible.flatMap(({ version }) => spoken.get(version) ?? [])
  return surveys.length > 0 ? surveys : yield* speaksNone(target, possible, asked)
})

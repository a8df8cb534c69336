/** The verdict on each rule: kept, broken, or not applicable to this server. */
import type { Version } from "@effect-mcp/protocol/Revision"
import { holdsIn, type Statement } from "../model/Rule.ts"
import type { Survey } from "../model/Survey.ts"
import type { RuleCount } from "../model/Tally.ts"
import { at } from "../model/json.ts"
import { extension as skills } from "../model/skills.ts"
import { extension } from "../model/TaskBook.ts"
import { uiOf, viewOf } from "../model/views.ts"

/** The facts about a search that decide which rules apply. */
export interface Scope {
  readonly transport?: "stdio" | "http" | "memory" | "sse" | undefined
  /** The revisions that the server, or the client, speaks. */
  readonly revisions?: ReadonlyArray<Version> | undefined
  readonly surveys?: ReadonlyArray<Survey> | undefined
}

/** True if the rule is observable over the transport in one of the revisions. */
export const applies = (rule: Statement, { revisions, transport }: Scope): boolean =>
  (rule.transport === undefined || transport === undefined || rule.transport === transport) &&
  (revisions === undefined || revisions.some((version) => holdsIn(rule, version)))

const dates = ({ since, until }: Statement): string =>
  since === undefined
    ? `only up to ${until}`
    : until === undefined
      ? `only since ${since}`
      : since === until
        ? `only in ${since}`
        : `only from ${since} to ${until}`

type Needs = readonly [rule: RegExp, has: (survey: Survey) => boolean, words: string]
const declaring =
  (name: string) =>
  ({ capabilities }: Survey) =>
    capabilities[name] !== undefined

/** Features that a server needs for a rule to apply, by the rule's name or section. */
const needs: ReadonlyArray<Needs> = [
  [
    /^task(?!.*server\/tools)/,
    ({ capabilities }) => capabilities.tasks !== undefined || at(capabilities, "extensions", extension) !== undefined,
    "the server declares no tasks"
  ],
  [
    / extensions\/skills/,
    ({ capabilities }) => at(capabilities, "extensions", skills) !== undefined,
    "the server declares no skills"
  ],
  [
    /^(?:view|app-tool|tool-visibility)-/,
    ({ tools }) => tools.some((tool) => uiOf(tool) !== undefined || viewOf(tool) !== undefined),
    "no tool has a view"
  ],
  [/ server\/tools/, declaring("tools"), "the server declares no tools"],
  [/ server\/prompts/, declaring("prompts"), "the server declares no prompts"],
  [/ server\/resources/, declaring("resources"), "the server declares no resources"],
  [/ server\/utilities\/logging/, declaring("logging"), "the server declares no logging"],
  [/ server\/utilities\/completion/, declaring("completions"), "the server declares no completions"],
  [
    /^http-params/,
    ({ tools }) => tools.some(({ inputSchema }) => JSON.stringify(inputSchema).includes("x-mcp-header")),
    "no tool has an argument with a header"
  ],
  [
    /^tool-structured/,
    ({ tools }) => tools.some(({ outputSchema }) => outputSchema !== undefined),
    "no tool has an output schema"
  ],
  [
    /^prompt-missing/,
    ({ prompts }) => prompts.some((prompt) => prompt.arguments?.some(({ required }) => required === true) === true),
    "no prompt has a required argument"
  ]
]

/** Why a rule that applies may still not have been exercised, by its name. */
const absent: ReadonlyArray<readonly [rule: RegExp, words: string]> = [
  [/^progress-/, "no call reported progress"],
  [/^(?:input-|caching-not-interim)/, "no call asked for input"],
  [/^(?:client-capabilities|nothing-before|request-id)/, "the server asked no questions"],
  [/^server-capabilities/, "the server sent no notification"],
  [/^(?:log-)/, "the server sent no log message"],
  [/^update-/, "the server sent no resource updates"],
  [/^listen-/, "the server sent nothing on a subscription"],
  [/^http-session/, "the server issues no session id"],
  [
    /^(?:http-event|http-resume|http-stream|http-one|http-not-buffered|http-get-silent|sse-)/,
    "no stream from the server shows it"
  ],
  [/^null-id/, "the server did not answer it"],
  [/^http-not-accepted/, "the server accepted every notification"],
  [/^http-missing-capability/, "no request lacked a capability"],
  [/^http-headers-decoded/, "nothing on the server has a name to send in the header"],
  [/^skill-nested/, "no skill is inside another one"],
  [/^skill-list-pages/, "the list of skills has one page"],
  [/^task-(?:foreign|list|caller|id)/, "no task was created, or there is no second user (--stranger-header)"],
  [/^task/, "no call became a task"],
  [/^tool-input/, "no tool that may be called has arguments"],
  [/^tool-structured/, "no tool with an output schema may be called"],
  [/^error-/, "the server returned no error"],
  [/^resource/, "the server has no resource to tell it from"],
  [/^completion/, "no completion was returned"]
]

/** Why a rule was not exercised. */
const reasonOf = (rule: Statement, scope: Scope, isCut: boolean): string => {
  const { revisions = [], surveys = [], transport } = scope
  if (rule.transport !== undefined && transport !== undefined && rule.transport !== transport)
    return rule.transport === "http" ? "only over Streamable HTTP" : "only over stdio"
  if (!revisions.some((version) => holdsIn(rule, version))) return dates(rule)
  const fitting = surveys.filter(({ revision }) => holdsIn(rule, revision))
  const text = `${rule.name} ${rule.section ?? ""}`
  const lacking = needs.find(([wanted, has]) => wanted.test(text) && !fitting.some((survey) => has(survey)))
  if (lacking !== undefined) return lacking[2]
  if (isCut) return "time ran out"
  return absent.find(([wanted]) => wanted.test(rule.name))?.[1] ?? "nothing the server did concerns it"
}

export type Standing = "kept" | "broken" | { readonly reason: string }

/** The standing of a rule. `findings`: the names of the rules with confirmed findings. */
export const standingOf = (
  { broken, kept, rule }: RuleCount,
  scope: Scope & { readonly isCut?: boolean | undefined },
  findings: ReadonlySet<string>
): Standing =>
  findings.has(rule.name)
    ? "broken"
    : kept + broken > 0
      ? "kept"
      : { reason: reasonOf(rule, scope, scope.isCut === true) }

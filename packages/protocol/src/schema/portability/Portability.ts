/**
 * Finds out which hosts can use a tool, and rewrites its schemas for the hosts that cannot.
 *
 * The rules are data with their sources (`rules`). `obstacles` applies them to a tool, and `portable` rewrites what can
 * be rewritten without changing the meaning of any value.
 */
import { escaped } from "../../Excerpt.ts"
import * as Host from "./Host.ts"
import { type Described, type Obstacle, obstacles } from "./obstacles.ts"
import { type Evidence, type HostId, type ProviderId, rules, type Severity } from "./PortabilityRule.ts"
import { projectInput, projectOutput, type Projection } from "./project.ts"

export { type Described, type Obstacle, obstacles } from "./obstacles.ts"
export {
  type Evidence,
  type HostId,
  type PortabilityRule,
  type ProviderId,
  type RuleId,
  rules,
  type Severity
} from "./PortabilityRule.ts"
export { type Projection } from "./project.ts"

/** A tool, rewritten so that more hosts can use it. */
export interface Portable<Tool extends Described> {
  /** The tool with projected schemas, or the given object itself if they need no change. */
  readonly tool: Tool
  /** Converts a call's arguments to the names in the tool's own schema. */
  readonly original: Projection["original"]
  /** Obstacles that the projection removed. */
  readonly removed: ReadonlyArray<Obstacle>
  /** Obstacles that are left. */
  readonly left: ReadonlyArray<Obstacle>
}

export interface PortableOptions {
  /** Whether to keep property names that some provider rejects, so that calls need no translation. Default false. */
  readonly keepsNames?: boolean | undefined
}

/**
 * Projects a tool's schemas. Pass the arguments of a call to `original`, then decode them with the original schema.
 *
 * @example
 * ```ts
 * import { Portability } from "@effect-mcp/protocol"
 *
 * const open: Portability.Described = {
 *   name: "open",
 *   inputSchema: {
 *     type: "object",
 *     anyOf: [
 *       { type: "object", properties: { kind: { const: "file" }, path: { type: "string" } }, required: ["kind", "path"] },
 *       { type: "object", properties: { kind: { const: "url" }, href: { type: "string" } }, required: ["kind", "href"] }
 *     ]
 *   }
 * }
 * const { inputSchema } = Portability.portable(open).tool
 * console.log(JSON.stringify(inputSchema["required"])) // => ["kind"]
 * console.log(inputSchema["description"]) // => Give kind "file" with path; or kind "url" with href.
 * ```
 */
export const portable = <Tool extends Described>(
  tool: Tool,
  { keepsNames = false }: PortableOptions = {}
): Portable<Tool> => {
  const found = obstacles(tool)
  const { original, schema } = projectInput(tool.inputSchema, keepsNames)
  const { outputSchema } = tool
  const output = outputSchema === undefined ? undefined : projectOutput(outputSchema)
  if (schema === tool.inputSchema && output === outputSchema) return { tool, original, removed: [], left: found }
  const projected = { ...tool, inputSchema: schema, ...(output === undefined ? undefined : { outputSchema: output }) }
  return {
    tool: projected,
    original,
    removed: found.filter(({ rule }) => rules[rule].projectable),
    left: obstacles(projected)
  }
}

/** Returns a rule's evidence about the given hosts and providers, or all of its evidence if there are no targets. */
export const evidenceFor = (
  { rule }: Obstacle,
  targets?: ReadonlyArray<HostId | ProviderId>
): ReadonlyArray<Evidence> => {
  const wanted = targets?.flatMap((target) => [target, ...(Host.get(target)?.providers ?? [])])
  return rules[rule].evidence.filter(({ on }) => wanted === undefined || wanted.includes(on))
}

/** True if some host or provider rejects or misreads the tool for this reason. */
export const isBlocking = (obstacle: Obstacle, targets?: ReadonlyArray<HostId | ProviderId>): boolean =>
  evidenceFor(obstacle, targets).some(({ severity }) => severity !== "ignored")

const providers: { readonly [Id in ProviderId]: string } = {
  anthropic: "Anthropic's API",
  openai: "OpenAI's API",
  gemini: "Gemini's API"
}

const isProvider = (id: HostId | ProviderId): id is ProviderId => Object.hasOwn(providers, id)

/** Returns a host's or provider's name, for use in a sentence. */
export const titleOf = (id: HostId | ProviderId): string =>
  isProvider(id) ? providers[id] : (Host.get(id)?.title ?? id)

const severities: ReadonlyArray<Severity> = ["refused", "misread", "ignored"]

/** Describes how hosts and providers react, such as "refused by Claude Code and Codex". */
export const reactions = (evidence: ReadonlyArray<Evidence>): string =>
  severities
    .flatMap((severity) => {
      const names = [...new Set(evidence.filter((one) => one.severity === severity).map(({ on }) => titleOf(on)))]
      const last = names.pop()
      if (last === undefined) return []
      return [`${severity} by ${names.length === 0 ? last : `${names.join(", ")} and ${last}`}`]
    })
    .join(", ")

/** Describes an obstacle in one line: its location, how hosts and providers react, and how to fix it. */
export const describe = (obstacle: Obstacle, targets?: ReadonlyArray<HostId | ProviderId>): string => {
  const { at, part, rule } = obstacle
  const { mend, subject } = rules[rule]
  const place = part.endsWith("Schema") ? `${part}${at === "" ? "" : ` ${escaped(at)}`}` : part
  return `${place}: ${subject} is ${reactions(evidenceFor(obstacle, targets))}. ${mend}.`
}

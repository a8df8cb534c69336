/**
 * Checks options passed by plain JavaScript. A misspelled name or a value of the wrong type throws a `TypeError` right away. Otherwise, a
 * misspelled `visible` would show a tool to everyone, and a tool without a description would break the entire tool list.
 */
import { closest } from "@effect-mcp/protocol/internal/closest"
import type { ServerLimits, SpillOptions, ToolLimits } from "./Options.ts"

/** Type of an option. `any` means that it has its own check. */
type Kind = "any" | "array" | "boolean" | "function" | "number" | "object" | "string"

/** All valid options. */
export type Known<A> = { readonly [name in keyof A]-?: Kind }

/** Valid tool limits. */
export const knownLimits: Known<ToolLimits> = { time: "number", bytes: "number" }

const knownServerLimits: Known<ServerLimits> = { ...knownLimits, spill: "any" }
const knownSpill: Known<SpillOptions> = {
  timeToLive: "number",
  rangeBytes: "number",
  previewBytes: "number",
  callerBytes: "number",
  totalBytes: "number",
  withoutLinks: "boolean"
}

const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)

/** Returns the options. Throws if a name is unknown or a value has the wrong type; the message starts with `where`. */
export const checkedOptions = <A extends object>(where: string, options: A, known: Known<A>): A => {
  if (kindOf(options) !== "object")
    throw new TypeError(`${where}: the options must be an object, but received ${kindOf(options)}`)
  const kinds = new Map<string, Kind>(Object.entries<Kind>(known))
  for (const [name, value] of Object.entries(options)) {
    const kind = kinds.get(name)
    if (kind === undefined)
      throw new TypeError(`${where}: unknown option ${JSON.stringify(name)}. ${advice(name, known)}`)
    if (kind !== "any" && value !== undefined && kindOf(value) !== kind)
      throw new TypeError(
        `${where}: the option ${JSON.stringify(name)} must be of type ${kind}, but received ${kindOf(value)}`
      )
  }
  return options
}
const advice = (name: string, known: object): string => {
  const names = Object.keys(known)
  const near = closest(name, names)
  return near === undefined ? `Available options: ${names.join(", ")}` : `Did you mean ${JSON.stringify(near)}?`
}

/** Throws if a server's limits are invalid. */
export const checkedLimits = (limits: ServerLimits): void => {
  const { spill } = checkedOptions("McpServer, limits", limits, knownServerLimits)
  if (spill !== undefined && typeof spill !== "boolean") checkedOptions("McpServer, limits.spill", spill, knownSpill)
}

/** Throws unless an option has one of the given values, or none. */
export const oneOf = (where: string, name: string, value: unknown, values: ReadonlyArray<string>): void => {
  if (value === undefined || values.some((one) => one === value)) return
  throw new TypeError(
    `${where}: the option ${JSON.stringify(name)} must be one of ${values.join(", ")}, but is ${JSON.stringify(value)}`
  )
}

/** Throws unless a required value is present. */
export const required = (where: string, part: string, value: unknown, kind: Kind): void => {
  if (kindOf(value) !== kind)
    throw new TypeError(`${where} needs ${part}: expected a ${kind}, but received ${kindOf(value)}`)
}

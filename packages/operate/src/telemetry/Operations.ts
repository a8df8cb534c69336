/** Durations of requests, by method, target, error, revision and transport. */
import { errorTypeOf, transportAttributes } from "@effect-mcp/core/internal/Spans"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Revision from "@effect-mcp/protocol/Revision"
import type * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import type { MetricInfo } from "./Names.ts"
import { Branch, type Measured, Series, type SeriesLimit } from "./Series.ts"

/** What takes the place of text of the other side that is not known: there would be a series for each. */
export const other = "_OTHER"

const known = new Set<string>([
  ...Object.keys(MethodInfo.clientRequests),
  ...Object.keys(MethodInfo.serverRequests),
  ...Object.keys(MethodInfo.clientNotifications),
  ...Object.keys(MethodInfo.serverNotifications)
])

/** How many methods of extensions, and how many names of tools and prompts, are told apart. */
const most = 1000

/** Text of messages that has shown itself to be a name: there was a request with it that succeeded. */
class KnownNames {
  private readonly names = new Set<string>()

  /** The name, where it is known or becomes known now. */
  see(name: string, succeeded: boolean): string | undefined {
    if (this.names.has(name)) return name
    if (!succeeded || this.names.size >= most) return undefined
    this.names.add(name)
    return name
  }
}

const attributes = [
  "mcp.method.name",
  "mcp.protocol.version",
  "network.transport",
  "network.protocol.name",
  "gen_ai.operation.name",
  "error.type",
  "rpc.response.status_code",
  "gen_ai.tool.name",
  "gen_ai.prompt.name"
]
/** The longest name that is an attribute. */
const longest = 256
/** The first attribute that is left out where there are too many series. */
const droppable = attributes.indexOf("error.type")

/** The attributes of sessions. */
export const sessionAttributes = ["mcp.protocol.version", "network.transport", "network.protocol.name"]

export const versionOf = (version: string | undefined): string | undefined =>
  version !== undefined && Revision.get(version) !== undefined ? version : undefined

/** The name that a message gives as its target, if it does. */
const nameOf = (method: string, params: JsonRpc.Params | undefined): string | undefined => {
  if (method !== "tools/call" && method !== "prompts/get") return undefined
  const name = params?.name
  return typeof name === "string" ? name : undefined
}

const succeeds = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) && !(isJsonObject(exit.value) && exit.value["isError"] === true)

/** The series of requests that succeed, by target, of one method, revision and transport as messages give them. */
class Successes {
  readonly method: string
  readonly revision: string | undefined
  readonly transport: string | undefined
  readonly targets = new Map<string | undefined, Measured>()

  constructor(method: string, revision: string | undefined, transport: string | undefined) {
    this.method = method
    this.revision = revision
    this.transport = transport
  }
}

export class Operations {
  private readonly series: Series
  private readonly methods = new KnownNames()
  private readonly targets = new KnownNames()
  private readonly namesTargets: boolean
  /** The path of most requests. */
  private readonly successes = new Branch<Successes>()
  /** The last of them: most requests are like the one before, but for their target. */
  private last = new Successes("", undefined, undefined)

  constructor(info: MetricInfo, namesTargets: boolean, limit: SeriesLimit, context: Context.Context<never>) {
    this.series = new Series(info, attributes, droppable, limit, context)
    this.namesTargets = namesTargets
  }

  /** Gives the `error.type` of the exit. */
  record(
    method: string,
    params: JsonRpc.Params | undefined,
    revision: string | undefined,
    transport: string | undefined,
    milliseconds: number,
    exit: Exit.Exit<unknown, unknown>
  ): string | undefined {
    const name = this.namesTargets ? nameOf(method, params) : undefined
    if (succeeds(exit)) {
      const known = this.successesOf(method, revision, transport)?.targets.get(name)
      if (known !== undefined) {
        known.record(milliseconds / 1000)
        return undefined
      }
    }
    return this.recordSlowly(method, name, revision, transport, milliseconds, exit)
  }

  private successesOf(
    method: string,
    revision: string | undefined,
    transport: string | undefined
  ): Successes | undefined {
    const { last } = this
    if (last.method === method && last.revision === revision && last.transport === transport) return last
    const found = this.successes.find(method)?.find(revision)?.find(transport)?.series
    if (found !== undefined) this.last = found
    return found
  }

  private recordSlowly(
    method: string,
    name: string | undefined,
    revision: string | undefined,
    transport: string | undefined,
    milliseconds: number,
    exit: Exit.Exit<unknown, unknown>
  ): string | undefined {
    const error = errorTypeOf(exit)
    const succeeded = error === undefined || error === "tool_error"
    const isTool = method === "tools/call"
    const target = name === undefined || name.length > longest ? undefined : this.targets.see(name, succeeded)
    const shown = known.has(method) ? method : (this.methods.see(method, succeeded) ?? other)
    const version = versionOf(revision)
    const network = transportAttributes(transport)
    const series = this.series.seriesOf([
      shown,
      version,
      network["network.transport"],
      network["network.protocol.name"],
      isTool ? "execute_tool" : undefined,
      error,
      error !== undefined && error.startsWith("-") ? error : undefined,
      isTool ? target : undefined,
      isTool ? undefined : target
    ])
    series.record(milliseconds / 1000)
    // Only text that is among the attributes is a key: the other side cannot make this grow.
    if (error === undefined && shown === method && target === name && version === revision) {
      const branch = this.successes.at(method).at(revision).at(transport)
      branch.series ??= new Successes(method, revision, transport)
      branch.series.targets.set(name, series)
    }
    return error
  }
}

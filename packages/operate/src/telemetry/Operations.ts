/** Durations of requests, by method, target, error, revision and transport. */
import { errorTypeOf, transportAttributes } from "@effect-mcp/core/internal/Spans"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Revision from "@effect-mcp/protocol/Revision"
import type * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import type { MetricInfo } from "./Names.ts"
import { type Measured, Series, type SeriesLimit } from "./Series.ts"

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

/** Requests that succeed and are alike, as messages give them, and their series. */
class Success {
  private readonly method: string
  private readonly target: string | undefined
  private readonly revision: string | undefined
  private readonly transport: string | undefined
  readonly series: Measured
  /** Others of the same target, or of the same method without one. */
  readonly next: Success | undefined

  constructor(
    method: string,
    target: string | undefined,
    revision: string | undefined,
    transport: string | undefined,
    series: Measured,
    next: Success | undefined
  ) {
    this.method = method
    this.target = target
    this.revision = revision
    this.transport = transport
    this.series = series
    this.next = next
  }

  is(method: string, target: string | undefined, revision: string | undefined, transport: string | undefined): boolean {
    return (
      this.target === target && this.transport === transport && this.method === method && this.revision === revision
    )
  }
}

export class Operations {
  /** By target, or by method where a request has none. */
  private readonly successes = new Map<string, Success>()
  private readonly namesTargets: boolean
  private readonly series: Series
  private readonly methods = new KnownNames()
  private readonly targets = new KnownNames()

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
      const known = this.knownOf(method, name, revision, transport)
      if (known !== undefined) {
        known.record(milliseconds / 1000)
        return undefined
      }
    }
    return this.recordSlowly(method, name, revision, transport, milliseconds, exit)
  }

  private knownOf(
    method: string,
    target: string | undefined,
    revision: string | undefined,
    transport: string | undefined
  ): Measured | undefined {
    let one = this.successes.get(target ?? method)
    while (one !== undefined && !one.is(method, target, revision, transport)) one = one.next
    return one?.series
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
      const key = name ?? method
      this.successes.set(key, new Success(method, name, revision, transport, series, this.successes.get(key)))
    }
    return error
  }
}

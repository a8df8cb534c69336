/** Rules of `subscriptions/listen` (2026-07-28): the acknowledgement and the content of a stream. */
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { acknowledged, type Model } from "../model/Model.ts"
import type { Exchange } from "../model/Observation.ts"
import type { RuleHandlers, Rule, Verdict } from "../model/Rule.ts"
import { declares, show, violated } from "./judge.ts"
import { at } from "../model/json.ts"

const since = "2026-07-28"
const page = "basic/patterns/subscriptions"
const updated = "notifications/resources/updated"

export const isListen = ({ method }: Exchange): boolean => method === "subscriptions/listen"

/** The filter field that asks for each notification, or `undefined` if none is needed. */
const fields = new Map([
  ...MethodInfo.listKinds.map((kind) => [`notifications/${kind}/list_changed`, `${kind}ListChanged`] as const),
  [updated, "resourceSubscriptions"]
])

const filterOf = ({ params }: Exchange): unknown => at(params, "notifications")

/**
 * True if the filter asks for the notification. For resource updates, any requested URI is enough, because a server may also send updates
 * of resources below it.
 */
const covers = (filter: unknown, method: string): boolean => {
  const value = at(filter, fields.get(method) ?? "")
  return method === updated ? Array.isArray(value) && value.length > 0 : value === true
}

/** Judges notifications that only a subscription delivers. */
const delivered = (check: (method: string, params: JsonObject, model: Model) => Verdict): RuleHandlers => ({
  Told: ({ method, params }, model) => (fields.has(method) ? check(method, params, model) : undefined)
})

/** Explains how an acknowledgement exceeds the requested filter or the server's capabilities. */
const excess = (honoured: JsonObject, filter: unknown, model: Model): string | undefined => {
  const { capabilities } = model
  for (const [method, field] of fields) {
    const value = honoured[field]
    if (value === undefined || value === false || (Array.isArray(value) && value.length === 0)) continue
    const capability = MethodInfo.ofServerNotification(method)?.capability
    if (capability !== undefined && model.knows("capabilities") && !declares(capabilities, capability))
      return `${field}, without ${capability}`
    if (!covers(filter, method)) return `${field}, which was not asked for`
    const asked = at(filter, field)
    const other = Array.isArray(value) && Array.isArray(asked) ? value.find((uri) => !asked.includes(uri)) : undefined
    if (other !== undefined) return `${show(other)}, which was not asked for`
  }
  return undefined
}

export const subscriptions: ReadonlyArray<Rule> = [
  {
    name: "listen-acknowledged",
    level: "MUST",
    requirement: "subscriptions.acknowledged.first",
    section: `${page}#acknowledgment`,
    text: "The first message with the id of a subscription is its acknowledgement.",
    since,
    on: {
      Unanswered: ({ exchange }) =>
        isListen(exchange) && exchange.wellFormed && isJsonObject(filterOf(exchange))
          ? violated(`A subscription with ${show(filterOf(exchange))} is never acknowledged`)
          : undefined,
      Answered: ({ answer, exchange }) =>
        isListen(exchange) && answer._tag === "Result" && !exchange.acknowledged
          ? violated(`A subscription ends with ${show(answer.result)} before it is acknowledged`)
          : undefined,
      Told: ({ method }) => (method === acknowledged ? "pass" : undefined)
    }
  },
  {
    name: "listen-nothing-before",
    level: "MUST",
    requirement: "subscriptions.acknowledged.nothing-before",
    section: `${page}#acknowledgment`,
    text: "No notification of a subscription precedes its acknowledgement.",
    since,
    on: delivered((method, params, model) => {
      const exchange = model.subscription(params)
      if (exchange === undefined) return undefined
      return exchange.acknowledged ? "pass" : violated(`${method} comes before the acknowledgement`)
    })
  },
  {
    name: "listen-only-requested",
    level: "MUST",
    requirement: "subscriptions.filter.only-requested",
    section: `${page}#opening-a-stream`,
    text: "A server only sends notifications that the client asked for.",
    since,
    on: delivered((method, params, model) => {
      const named = model.subscription(params)
      const asked = named === undefined ? model.exchanges.filter(isListen) : [named]
      return asked.some((exchange) => covers(filterOf(exchange), method))
        ? "pass"
        : violated(`The server sends ${method}, which no subscription asked for`, method)
    })
  },
  {
    name: "listen-honest",
    level: "MUST",
    requirement: "subscriptions.acknowledged.subset",
    section: `${page}#acknowledgment`,
    text: "The acknowledgement lists the honoured part of the filter, without anything the server does not support.",
    since,
    on: {
      Told: ({ method, params }, model) => {
        const exchange = model.subscription(params)
        const honoured = at(params, "notifications")
        if (method !== acknowledged || exchange === undefined || !isJsonObject(honoured)) return undefined
        const wrong = excess(honoured, filterOf(exchange), model)
        return wrong === undefined ? "pass" : violated(`The acknowledgement has ${wrong}`)
      }
    }
  },
  {
    name: "listen-end-named",
    level: "MUST",
    requirement: "subscriptions.end.id",
    section: `${page}#graceful-closure`,
    text: "The answer to a subscription names it in `_meta`.",
    since,
    on: {
      Answered: ({ answer, exchange }) =>
        !isListen(exchange) || answer._tag === "Error"
          ? undefined
          : at(answer.result, "_meta", Meta.subscriptionId) === exchange.id
            ? "pass"
            : violated(`The subscription ${show(exchange.id)} ends with ${show(answer.result)}`)
    }
  }
]

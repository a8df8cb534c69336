/** Rules about a client's messages: ids, the handshake, cursors, cancellations. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Verdict } from "../../model/Rule.ts"
import { show, violated } from "../../rules/judge.ts"
import type { ClientRequest, ClientModel } from "../model/ClientModel.ts"
import type { ClientRule } from "../model/ClientRule.ts"
import { at } from "../../model/json.ts"

const latestStateful = "2025-11-25"
const keyOf = (id: unknown): string => JSON.stringify(id) ?? ""

/** Judges requests. */
const requested = (check: (asked: ClientRequest, model: ClientModel) => Verdict): ClientRule["on"] => ({
  Requested: ({ asked }, model) => check(asked, model)
})

const initialize: ClientRule["on"] = requested(({ method, params }) => {
  if (method !== "initialize") return undefined
  const { name, version } = Object(at(params, "clientInfo"))
  const isWhole =
    typeof at(params, "protocolVersion") === "string" &&
    isJsonObject(at(params, "capabilities")) &&
    typeof name === "string" &&
    typeof version === "string"
  return isWhole ? "pass" : violated(`The params of initialize are ${show(params)}`)
})

const token = requested(({ params }, { asked }) => {
  const given = at(params, "_meta", "progressToken")
  if (given === undefined) return undefined
  const other = asked.find((other) => !other.over && keyOf(at(other.params, "_meta", "progressToken")) === keyOf(given))
  return other === undefined ? "pass" : violated(`The token ${show(given)} belongs to an open ${other.method}`)
})

const cancelled = (check: (id: unknown, target: ClientRequest | undefined) => Verdict): ClientRule["on"] => ({
  Notified: ({ method, params }, { asked }) => {
    if (method !== "notifications/cancelled") return undefined
    const id = at(params, "requestId")
    return check(
      id,
      asked.findLast((each) => keyOf(each.id) === keyOf(id))
    )
  }
})

export const messages: ReadonlyArray<ClientRule> = [
  {
    name: "client-message-valid",
    level: "MUST",
    requirement: "json-rpc.message.conformant",
    section: "basic#messages",
    text: "Every message on the wire is a valid JSON-RPC 2.0 message.",
    on: {
      Invalid: ({ reason, text }) => violated(`${show(text)}: ${reason}`),
      Requested: () => "pass"
    }
  },
  {
    name: "client-id-unique",
    level: "MUST",
    requirement: "json-rpc.request.id-unique",
    section: "basic#requests",
    text: "A client never uses a request id twice within one session.",
    until: latestStateful,
    on: requested(({ id, method }, { ids }) => {
      if (method === "initialize") return undefined
      return ids.has(keyOf(id)) ? violated(`${method} has the id ${show(id)}, like an earlier request`) : "pass"
    })
  },
  {
    name: "client-id-in-flight",
    level: "MUST",
    requirement: "json-rpc.request.id-in-flight",
    section: "basic#requests",
    text: "A request never has the id of another request that is still waiting for its response.",
    since: "2026-07-28",
    on: requested(({ id, method }, { asked }) =>
      asked.some((other) => !other.over && keyOf(other.id) === keyOf(id))
        ? violated(`${method} has the id ${show(id)} of an open request`)
        : "pass"
    )
  },
  {
    name: "client-initialize-first",
    level: "MUST",
    requirement: "lifecycle.initialize.first",
    section: "basic/lifecycle#initialization",
    text: "The initialize exchange is the first interaction of a connection.",
    until: latestStateful,
    on: requested(({ method }, { phase }) =>
      // A client of both eras first finds out which one the server supports.
      phase !== "new" || method === "ping" || method === "server/discover"
        ? undefined
        : method === "initialize"
          ? "pass"
          : violated(`The first request is ${method}`)
    )
  },
  {
    name: "client-initialize-params",
    level: "MUST",
    requirement: "lifecycle.initialize.request",
    section: "basic/lifecycle#initialization",
    text: "A client opens with an `initialize` request that carries its protocol version, capabilities and implementation info.",
    until: latestStateful,
    on: initialize
  },
  {
    name: "client-waits-for-initialize",
    level: "SHOULD",
    requirement: "lifecycle.client.only-ping-before-answer",
    section: "basic/lifecycle#initialization",
    text: "A client sends no request but `ping` before `initialize` is answered.",
    until: latestStateful,
    on: requested(({ method }, { phase }) =>
      method === "initialize" || method === "ping"
        ? undefined
        : phase === "opening"
          ? violated(`${method} comes before the answer to initialize`)
          : "pass"
    )
  },
  {
    name: "client-initialized",
    level: "MUST",
    requirement: "lifecycle.initialized.sent",
    section: "basic/lifecycle#initialization",
    text: "A client sends `notifications/initialized` once `initialize` was answered successfully.",
    until: latestStateful,
    on: {
      Ended: (_, { asked, impossible, phase }) => {
        if (phase === "ready") return "pass"
        const later = asked.findLast(({ method }) => method !== "initialize" && method !== "ping")
        const isOpen = phase === "open" && !impossible && asked.at(-1)?.method !== "initialize"
        return isOpen && later !== undefined
          ? violated(`${later.method} was sent, and never the notification`)
          : undefined
      }
    }
  },
  {
    name: "client-version-disconnects",
    level: "MUST",
    requirement: "lifecycle.version.client-disconnects",
    section: "basic/lifecycle#version-negotiation",
    text: "A client closes the connection if the server answers with a version that the client does not support.",
    until: latestStateful,
    on: {
      Requested: ({ asked: { method } }, { agreed, impossible, phase }) =>
        !impossible || phase === "opening" || method === "initialize" || method === "server/discover"
          ? undefined
          : violated(`${method} is sent to a server that speaks ${show(agreed)}`),
      Ended: (_, { impossible }) => (impossible ? "pass" : undefined)
    }
  },
  {
    name: "client-progress-token-type",
    level: "MUST",
    requirement: "progress.token.type",
    section: "basic/utilities/progress#progress-flow",
    text: "A progress token is a string or an integer.",
    on: requested(({ method, params }) => {
      const given = at(params, "_meta", "progressToken")
      if (given === undefined) return undefined
      return JsonRpc.isId(given) ? "pass" : violated(`The token of ${method} is ${show(given)}`)
    })
  },
  {
    name: "client-progress-token-unique",
    level: "MUST",
    requirement: "progress.token.unique",
    section: "basic/utilities/progress#progress-flow",
    text: "A progress token is unique among the active requests of its sender.",
    on: token
  },
  {
    name: "client-cancels-own",
    level: "MUST",
    requirement: "cancellation.sender.in-progress",
    section: "basic/utilities/cancellation#behavior-requirements",
    text: "A cancellation names a request that the client has sent.",
    on: cancelled((id, target) =>
      target === undefined ? violated(`The client cancels ${show(id)}, which it never sent`) : "pass"
    )
  },
  {
    name: "client-initialize-not-cancelled",
    level: "MUST",
    requirement: "cancellation.initialize-not-cancelled",
    section: "basic/utilities/cancellation#behavior-requirements",
    text: "A client never cancels its `initialize` request.",
    until: latestStateful,
    on: cancelled((_, target) => (target?.method === "initialize" ? violated("initialize is cancelled") : "pass"))
  },
  {
    name: "client-cursor-unmodified",
    level: "MUST",
    requirement: "pagination.client.opaque-unmodified",
    section: "server/utilities/pagination#implementation-guidelines",
    text: "A client neither parses nor modifies a cursor.",
    on: requested(({ method, params }, { cursors }) => {
      const cursor = at(params, "cursor")
      if (cursor === undefined) return undefined
      return typeof cursor === "string" && cursors.has(cursor)
        ? "pass"
        : violated(`${method} has the cursor ${show(cursor)}, which the server never returned`)
    })
  },
  {
    name: "client-pages-end",
    level: "robustness",
    text: "A client does not read endless pages forever.",
    on: {
      Ended: (_, { endless, pages }) =>
        endless
          ? pages >= 100
            ? violated(`The client has asked for ${pages} pages with one cursor`)
            : "pass"
          : undefined
    }
  }
]

/** Rules of the stateful revisions: `initialize`, ping, negotiation, and messages that the server sends on its own. */
import type { ServerCapability } from "@effect-mcp/protocol/MethodInfo"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Logging from "@effect-mcp/protocol/model/Logging"
import * as Schema from "effect/Schema"
import { type Model } from "../model/Model.ts"
import type { Rule } from "../model/Rule.ts"
import { answered, declares, result, show, showAnswer, violated, wrongResult } from "./judge.ts"
import { at } from "../model/json.ts"

const latestStateful = "2025-11-25"
const isLevel = Schema.is(Logging.LoggingLevel)

/** Returns the capability that the notification requires, if the server did not declare it. */
const undeclared = (method: string, model: Model): string | undefined => {
  const capability = MethodInfo.ofServerNotification(method)?.capability
  if (capability === undefined) return undefined
  const side = capability.startsWith("elicitation") ? model.declares : model.capabilities
  return declares(side, capability) ? undefined : capability
}

const questionCapability = (method: string): string | undefined =>
  new Map(Object.entries(MethodInfo.serverRequests)).get(method)?.capability

export const lifecycle: ReadonlyArray<Rule> = [
  {
    name: "initialize-response",
    level: "MUST",
    requirement: "lifecycle.initialize.response",
    section: "basic/lifecycle#initialization",
    text: "A server answers `initialize` with its protocol version, capabilities and implementation info.",
    until: latestStateful,
    on: {
      Answered: ({ answer, exchange }, model) => {
        if (exchange.method !== "initialize" || exchange.open || answer._tag === "Error" || !exchange.wellFormed)
          return undefined
        const wrong = wrongResult("initialize", answer.result, model)
        return wrong === undefined ? "pass" : violated(`${show(answer.result)}: ${wrong}`)
      }
    }
  },
  {
    name: "version-echoed",
    level: "MUST",
    requirement: "lifecycle.version.server-echoes-supported",
    section: "basic/lifecycle#version-negotiation",
    text: "A server that supports the offered version answers with the same version.",
    until: latestStateful,
    on: {
      Answered: ({ answer, exchange }, model) => {
        const offer = at(exchange.params, "protocolVersion")
        // A survey of this revision exists only if the server chose the revision before.
        if (exchange.method !== "initialize" || exchange.open || offer !== model.revision.version) return undefined
        if (answer._tag === "Error" || model.known !== offer) return undefined
        const chosen = at(answer.result, "protocolVersion")
        return chosen === offer ? "pass" : violated(`${show(offer)} was offered, and ${show(chosen)} is the answer`)
      }
    }
  },
  {
    name: "version-other",
    level: "MUST",
    requirement: "lifecycle.version.server-answers-other",
    section: "basic/lifecycle#version-negotiation",
    text: "A server that does not support the offered version answers with another one that it supports.",
    until: latestStateful,
    on: {
      Answered: ({ answer, exchange }) => {
        const offer = at(exchange.params, "protocolVersion")
        if (exchange.method !== "initialize" || exchange.open || answer._tag === "Error") return undefined
        // Only dates that no revision has.
        if (typeof offer !== "string" || !/^(?:19|99)/.test(offer)) return undefined
        return at(answer.result, "protocolVersion") === offer ? violated(`The server agrees to ${show(offer)}`) : "pass"
      }
    }
  },
  {
    name: "nothing-before-initialized",
    level: "SHOULD",
    requirement: "lifecycle.server.only-ping-and-log-before-initialized",
    section: "basic/lifecycle#initialization",
    text: "A server sends no request but `ping` before it receives `notifications/initialized`.",
    until: latestStateful,
    on: {
      Asked: ({ question: { method } }, { phase }) =>
        method === "ping" ? undefined : phase === "ready" ? "pass" : violated(`The server sends ${method} before it`)
    }
  },
  {
    name: "ping-empty",
    level: "MUST",
    requirement: "ping.receiver.empty-response",
    section: "basic/utilities/ping#behavior-requirements",
    text: "A ping is answered promptly with an empty result.",
    until: latestStateful,
    on: answered("ping", (exchange, answer) => {
      const params = exchange.params
      if (params !== undefined && (typeof params !== "object" || Object.keys(params ?? {}).length > 0)) return undefined
      if (answer._tag === "Error") return violated(`It is answered with ${showAnswer(answer)}`)
      const { _meta: _, ...rest } = Object(answer.result)
      return Object.keys(rest).length === 0 ? "pass" : violated(`It is answered with ${showAnswer(answer)}`)
    })
  },
  {
    name: "client-capabilities-respected",
    level: "MUST",
    requirement: "lifecycle.operation.capabilities-respected",
    section: "basic/lifecycle#operation",
    text: "A server only asks for things that the client declared.",
    until: latestStateful,
    softerUntil: "2025-03-26",
    on: {
      Asked: ({ question: { method } }, model) => {
        const capability = questionCapability(method)
        if (capability === undefined || !model.knows("capabilities")) return undefined
        return declares(model.declares, capability)
          ? "pass"
          : violated(`The server sends ${method} to a client that did not declare ${capability}`, method)
      }
    }
  },
  {
    name: "server-capabilities-respected",
    level: "MUST",
    requirement: "lifecycle.operation.capabilities-respected",
    section: "basic/lifecycle#operation",
    text: "A server only sends notifications whose capability it declared.",
    until: latestStateful,
    softerUntil: "2025-03-26",
    on: {
      Told: ({ method }, model) => {
        if (model.phase === "new" || model.phase === "opening" || !model.knows("capabilities")) return undefined
        const capability = undeclared(method, model)
        return capability === undefined ? "pass" : violated(`The server sends ${method} without ${capability}`, method)
      }
    }
  },
  {
    name: "log-threshold",
    level: "SHOULD",
    requirement: "logging.level.threshold",
    section: "server/utilities/logging#setting-log-level",
    text: "After a level is set, messages below it are not sent.",
    until: latestStateful,
    on: {
      Told: ({ method, params: { level } }, model) => {
        if (method !== "notifications/message" || !isLevel(level) || !isLevel(model.level)) return undefined
        return Logging.isAtLeast(level, model.level)
          ? "pass"
          : violated(`A message of the level ${level} arrives after the level was set to ${model.level}`)
      }
    }
  },
  {
    name: "update-only-subscribed",
    level: "SHOULD",
    requirement: "resources.updated.only-subscribed",
    section: "server/resources#subscriptions",
    text: "A resource update is only sent to clients that subscribed to the resource.",
    until: latestStateful,
    on: {
      Told: ({ method, params }, { subscribed }) =>
        method !== "notifications/resources/updated"
          ? undefined
          : subscribed
            ? "pass"
            : violated(`An update of ${show(params.uri)} arrives without any subscription`)
    }
  },
  {
    name: "set-level-invalid",
    level: "SHOULD",
    requirement: "logging.level.invalid",
    section: "server/utilities/logging#error-handling",
    text: "An invalid log level is answered with error -32602.",
    until: latestStateful,
    on: answered("logging/setLevel", ({ params }, answer, { capabilities }) => {
      const level = at(params, "level")
      if (!declares(capabilities, "logging" satisfies ServerCapability) || isLevel(level)) return undefined
      return answer._tag === "Error" && answer.code === -32602
        ? "pass"
        : violated(
            `The level ${show(level)} is answered with ${showAnswer(answer)}`,
            level === undefined ? "missing" : typeof level
          )
    })
  },
  {
    name: "completion-at-most-100",
    level: "MUST",
    requirement: "completion.result.at-most-100",
    section: "server/utilities/completion#completion-results",
    text: "A completion never has more than 100 values.",
    on: result("completion/complete", (value) => {
      const values = at(value, "completion", "values")
      if (!Array.isArray(values)) return undefined
      return values.length > 100 ? violated(`A completion has ${values.length} values`) : "pass"
    })
  }
]

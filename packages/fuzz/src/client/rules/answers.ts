/** Rules about a client's answers to the server's questions. */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Verdict } from "../../model/Rule.ts"
import { show, violated } from "../../rules/judge.ts"
import type { ClientModel, SentQuestion } from "../model/ClientModel.ts"
import type { ClientObservations, ClientRule } from "../model/ClientRule.ts"
import { at } from "../../model/json.ts"

const latestStateful = "2025-11-25"

type Replied = ClientObservations["Replied"]

/** The client capability that each question requires. */
const needs: { readonly [method: string]: string } = {
  "roots/list": "roots",
  "sampling/createMessage": "sampling",
  "elicitation/create": "elicitation"
}

const replied = (
  method: string,
  check: (reply: Replied, question: SentQuestion, model: ClientModel) => Verdict
): ClientRule["on"] => ({
  Replied: (reply, model) => (reply.question?.method === method ? check(reply, reply.question, model) : undefined)
})

const declares = ({ declares }: ClientModel, name: string): boolean => declares[name] !== undefined

const isMode = (declared: unknown, mode: string): boolean =>
  isJsonObject(declared) && (declared[mode] !== undefined || (mode === "form" && Object.keys(declared).length === 0))

export const answers: ReadonlyArray<ClientRule> = [
  {
    name: "client-response-id",
    level: "MUST",
    requirement: "json-rpc.response.same-id",
    section: "basic#responses",
    text: "A response carries the id of the request that it answers, value and type.",
    until: latestStateful,
    on: {
      Replied: ({ error, id, question, result }) => {
        if (question !== undefined) return "pass"
        if (id === undefined || id === null) return undefined
        return violated(`The server has not asked anything with the id ${show(id)}: ${show(result ?? error)}`)
      }
    }
  },
  {
    name: "client-notification-no-response",
    level: "MUST",
    requirement: "json-rpc.notification.no-response",
    section: "basic#notifications",
    text: "A notification is never answered, not even with an error.",
    since: "2025-03-26",
    until: latestStateful,
    on: {
      Replied: ({ error, id, question }, { faults }) => {
        if (question !== undefined) return "pass"
        const junk = faults.some(
          ({ act }) => act._tag === "Text" || (act._tag === "Tell" && !isNotification(act.message))
        )
        // An error without an id may answer something that was not a valid message.
        return id === undefined || id === null
          ? junk
            ? undefined
            : violated(`The error ${show(error)} answers a message that was not a request`)
          : undefined
      }
    }
  },
  {
    name: "client-ping-answered",
    level: "MUST",
    requirement: "ping.receiver.empty-response",
    section: "basic/utilities/ping#behavior-requirements",
    text: "A ping is answered promptly with an empty result.",
    until: latestStateful,
    on: {
      ...replied("ping", ({ error, result }) => {
        const { _meta: _, ...rest } = Object(result)
        return error === undefined && Object.keys(rest).length === 0
          ? "pass"
          : violated(`It is answered with ${show(error ?? result)}`)
      }),
      Unanswered: ({ question }) =>
        question.isDue && question.method === "ping" ? violated("A ping is not answered") : undefined
    }
  },
  {
    name: "client-question-answered",
    level: "robustness",
    text: "A client answers every request of the server, at least with an error.",
    until: latestStateful,
    on: {
      Replied: ({ question }) => (question === undefined ? undefined : "pass"),
      Unanswered: ({ question: { isDue, method } }) =>
        !isDue || method === "ping" ? undefined : violated(`${method} is not answered`, method)
    }
  },
  {
    name: "client-unknown-refused",
    level: "robustness",
    text: "A client answers a request for an unknown method with an error.",
    until: latestStateful,
    on: replied("fuzz/unknown", ({ error, result }) =>
      error === undefined ? violated(`It is answered with the result ${show(result)}`) : "pass"
    )
  },
  {
    name: "answers-only-what-it-declared",
    level: "MUST",
    requirement: "lifecycle.operation.capabilities-respected",
    section: "basic/lifecycle#operation",
    text: "A client only answers requests it declared support for, and rejects all others with an error.",
    until: latestStateful,
    softerUntil: "2025-03-26",
    on: {
      Replied: ({ error, question, result }, model) => {
        const needed = needs[question?.method ?? ""]
        if (needed === undefined || declares(model, needed)) return undefined
        return error !== undefined
          ? "pass"
          : violated(`${question?.method} is answered with ${show(result)}, but ${needed} was not declared`, needed)
      }
    }
  },
  {
    name: "client-roots-unsupported",
    level: "SHOULD",
    requirement: "roots.error.not-supported",
    section: "client/roots#error-handling",
    text: "A client without roots answers error -32601.",
    until: latestStateful,
    on: replied("roots/list", ({ error }, _, model) =>
      declares(model, "roots") || error === undefined
        ? undefined
        : at(error, "code") === -32601
          ? "pass"
          : violated(`It is answered with ${show(error)}`)
    )
  },
  {
    name: "client-roots-file",
    level: "MUST",
    requirement: "roots.uri.file",
    section: "client/roots#root",
    text: "The URI of a root is a `file://` URI.",
    until: latestStateful,
    on: replied("roots/list", ({ result }) => {
      const roots = at(result, "roots")
      if (!Array.isArray(roots)) return undefined
      const wrong = roots.map((root: unknown) => String(at(root, "uri"))).find((uri) => !uri.startsWith("file://"))
      return wrong === undefined ? "pass" : violated(`The URI of a root is ${show(wrong)}`)
    })
  },
  {
    name: "client-elicitation-mode",
    level: "MUST",
    requirement: "elicitation.error.undeclared-mode",
    section: "client/elicitation#error-handling",
    text: "A mode that the client did not declare gets error -32602.",
    since: "2025-11-25",
    until: "2025-11-25",
    on: replied("elicitation/create", ({ error, result }, { params }, { declares: { elicitation } }) => {
      const mode = at(params, "mode") ?? "form"
      if (elicitation === undefined || typeof mode !== "string" || isMode(elicitation, mode)) return undefined
      return at(error, "code") === -32602
        ? "pass"
        : violated(`A question of the mode ${show(mode)} is answered with ${show(error ?? result)}`)
    })
  },
  {
    name: "client-sampling-tools",
    level: "MUST",
    requirement: "sampling.tools.undeclared-error",
    section: "client/sampling#creating-messages",
    text: "A client that did not declare `sampling.tools` answers `tools` or `toolChoice` with an error.",
    since: "2025-11-25",
    until: "2025-11-25",
    on: replied("sampling/createMessage", ({ error, result }, { params }, { declares: { sampling } }) => {
      if (sampling === undefined || at(sampling, "tools") !== undefined || at(params, "tools") === undefined)
        return undefined
      return error === undefined ? violated(`It is answered with ${show(result)}`) : "pass"
    })
  },
  {
    name: "client-error-code",
    level: "MUST",
    requirement: "json-rpc.error.code-integer",
    section: "basic#responses",
    text: "The code of an error is an integer.",
    until: latestStateful,
    on: {
      Replied: ({ error }) =>
        error === undefined
          ? undefined
          : Number.isInteger(at(error, "code"))
            ? "pass"
            : violated(`The error is ${show(error)}`)
    }
  },
  {
    name: "client-no-responses",
    level: "MUST",
    requirement: "http.post.no-responses",
    section: "basic/transports/streamable-http#sending-messages",
    text: "A client never posts a response.",
    since: "2026-07-28",
    transport: "http",
    on: {
      Replied: ({ error, result }) => violated(`The response ${show(result ?? error)} is posted`),
      Requested: () => "pass"
    }
  }
]

const isNotification = (message: unknown): boolean =>
  typeof at(message, "method") === "string" && at(message, "id") === undefined

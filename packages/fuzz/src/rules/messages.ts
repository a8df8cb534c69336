/** Rules for all messages and their ids, regardless of the method. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { isTaken } from "../model/Call.ts"
import { type Model } from "../model/Model.ts"
import type { Rule } from "../model/Rule.ts"
import { infoOf, reachesHandler, show, showAnswer, violated, wrongParams } from "./judge.ts"
import { isListen } from "./subscriptions.ts"
import { at, parse } from "../model/json.ts"

/** An error message with several lines and more than this many characters is not concise. */
const longMessage = 200

/** True if the result answers a request with a null id. */
const isForNull = (json: unknown, { exchanges }: Model): boolean =>
  at(json, "id") === null && at(json, "result") !== undefined && exchanges.some(({ id }) => id === null)

export const messages: ReadonlyArray<Rule> = [
  {
    name: "stdout-only-messages",
    level: "MUST",
    requirement: "stdio.stdout.only-messages",
    section: "basic/transports#stdio",
    text: "A server writes nothing but protocol messages to stdout.",
    transport: "stdio",
    on: {
      Unreadable: ({ text }) => violated(`stdout has ${show(text)}, which is not JSON`),
      Answered: () => "pass"
    }
  },
  {
    name: "message-valid",
    level: "MUST",
    requirement: "json-rpc.message.conformant",
    section: "basic#messages",
    text: "Every message is a valid JSON-RPC 2.0 message.",
    on: {
      Invalid: ({ json, reason }, model) =>
        isForNull(json, model) ? undefined : violated(`${reason}: ${show(json)}`, reason),
      Answered: () => "pass",
      Told: () => "pass"
    }
  },
  {
    name: "null-id-refused",
    level: "MUST",
    requirement: "json-rpc.request.id-not-null",
    section: "basic#requests",
    text: "A request with a null id is rejected.",
    on: {
      Invalid: ({ json }, model) =>
        isForNull(json, model) ? violated(`A request with the id null is answered with ${show(json)}`) : undefined,
      Anonymous: () => "pass"
    }
  },
  {
    name: "answer-same-id",
    level: "MUST",
    requirement: "json-rpc.response.same-id",
    section: "basic#responses",
    text: "A response carries the id of the request that it answers, value and type.",
    on: {
      Stray: ({ answer, id }) =>
        violated(`A response has the id ${show(id)}, which no request had: ${showAnswer(answer)}`),
      Answered: () => "pass"
    }
  },
  {
    name: "answer-once",
    level: "MUST",
    requirement: "json-rpc.message.conformant",
    section: "basic#messages",
    text: "A request is answered once.",
    on: {
      AnsweredAgain: ({ answer, exchange, expected }) =>
        expected
          ? undefined
          : violated(`${exchange.method} is answered again, with ${showAnswer(answer)}`, exchange.method),
      Answered: () => "pass"
    }
  },
  {
    name: "answer-always",
    level: "MUST",
    requirement: "json-rpc.message.conformant",
    section: "basic#messages",
    text: "Every request is answered.",
    on: {
      // Handlers may take as long as they like. A server may also wait for an answer of the client, for example about its roots.
      Unanswered: ({ exchange }, model) =>
        exchange.wellFormed &&
        !exchange.inBatch &&
        !isListen(exchange) &&
        !reachesHandler(exchange, model) &&
        model.unanswered.size === 0
          ? violated(`${exchange.method} with ${show(exchange.params)} is never answered`, exchange.method)
          : undefined,
      Answered: ({ exchange }) => (exchange.wellFormed ? "pass" : undefined)
    }
  },
  {
    name: "notification-silent",
    level: "MUST",
    requirement: "json-rpc.notification.no-response",
    section: "basic#notifications",
    text: "A notification is never answered, not even with an error.",
    since: "2025-03-26",
    on: {
      Anonymous: ({ code, expected }) =>
        expected > 0 ? undefined : violated(`Error ${code} without an id, though every request was readable`),
      Alive: () => "pass"
    }
  },
  {
    name: "request-id-unique",
    level: "MUST",
    requirement: "json-rpc.request.id-unique",
    section: "basic#requests",
    text: "A server never uses a request id twice within one session.",
    until: "2025-11-25",
    on: {
      Asked: ({ question }, { asked }) =>
        asked.has(JSON.stringify(question.id))
          ? violated(`The server uses the id ${show(question.id)} again, for ${question.method}`)
          : "pass"
    }
  },
  {
    name: "batch-answered",
    level: "MUST",
    requirement: "json-rpc.batch.receive",
    section: "basic#batching",
    text: "A batch is accepted and each of its messages handled.",
    since: "2025-03-26",
    until: "2025-03-26",
    on: {
      Answered: ({ exchange: { inBatch } }) => (inBatch ? "pass" : undefined),
      Unanswered: ({ exchange }, model) =>
        exchange.inBatch && exchange.wellFormed && !reachesHandler(exchange, model)
          ? violated(`${exchange.method} in a batch is never answered`)
          : undefined,
      // If another revision was negotiated, its rules apply.
      Finished: ({ call }, { agreed, phase, revision }) =>
        call.exchanges.some(({ inBatch }) => inBatch) &&
        call.right &&
        phase === "ready" &&
        agreed === revision.version &&
        call.session !== "ended" &&
        !call.overtaken &&
        !isTaken(call)
          ? violated(`A batch is answered with status ${call.status} and ${show(parse(call.body))}`)
          : undefined
    }
  },
  {
    name: "method-unknown",
    level: "MUST",
    requirement: "json-rpc.message.conformant",
    section: "basic#messages",
    text: "A request for a method that does not exist is answered with an error.",
    on: {
      Answered: ({ answer, exchange }) =>
        !exchange.wellFormed ||
        !exchange.open ||
        infoOf(exchange.method) !== undefined ||
        // Methods of extensions.
        /^(?:tasks|skills|resources\/directory)\//.test(exchange.method)
          ? undefined
          : answer._tag === "Error"
            ? "pass"
            : violated(`The method ${show(exchange.method)} is answered with ${showAnswer(answer)}`)
    }
  },
  {
    name: "error-message-short",
    level: "SHOULD",
    requirement: "json-rpc.error.message-short",
    section: "basic#responses",
    text: "The message of an error is one concise sentence.",
    on: {
      Answered: ({ answer, exchange }) =>
        answer._tag === "Result"
          ? undefined
          : answer.message.length > longMessage && answer.message.includes("\n")
            ? violated(
                `The error message has ${answer.message.split("\n").length} lines: ${show(answer.message)}`,
                exchange.method
              )
            : "pass"
    }
  },
  {
    name: "error-blames-client",
    level: "robustness",
    text: "A request with invalid params is answered with -32602, not with an internal error.",
    on: {
      Answered: ({ answer, exchange }, model) => {
        if (answer._tag === "Result" || !exchange.wellFormed || wrongParams(exchange, model) === undefined)
          return undefined
        return answer.code === McpError.InternalError
          ? violated(
              `${exchange.method} with ${show(exchange.params)} is answered with ${showAnswer(answer)}, as if the server had failed`,
              exchange.method
            )
          : "pass"
      }
    }
  },
  {
    name: "malformed-answered",
    level: "robustness",
    text: "A request whose params are not an object is rejected with an error, so that its caller does not wait forever.",
    on: {
      Unanswered: ({ exchange }) =>
        !exchange.wellFormed
          ? violated(`${exchange.method} with the params ${show(exchange.params)} is never answered`)
          : undefined,
      Answered: ({ exchange }) => (exchange.wellFormed ? undefined : "pass")
    }
  },
  {
    name: "survives",
    level: "robustness",
    text: "The server neither exits nor stops answering, whatever it is sent.",
    on: {
      Gone: ({ how, isIdle = false }) =>
        isIdle
          ? violated(`The server exited by itself while its client was silent: ${how}`, "idle")
          : violated(`The server exited by itself: ${how}`),
      Alive: ({ answered }) => (answered ? "pass" : violated("A ping at the end of the conversation is never answered"))
    }
  },
  {
    name: "exits",
    level: "SHOULD",
    requirement: "stdio.shutdown.end-of-input",
    section: "basic/transports/stdio#shutdown",
    text: "A server exits promptly when its stdin is closed.",
    since: "2026-07-28",
    transport: "stdio",
    on: {
      Closed: ({ exited }) => (exited ? "pass" : violated("The server is still running after its stdin was closed"))
    }
  },
  {
    name: "exits-with-input",
    level: "robustness",
    text: "A server exits when its stdin is closed.",
    until: "2025-11-25",
    transport: "stdio",
    on: {
      Closed: ({ exited }) => (exited ? "pass" : violated("The server is still running after its stdin was closed"))
    }
  }
]

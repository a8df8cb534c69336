/** Requirements on the JSON-RPC envelope: requests, responses, notifications, batches. */
import { at, both, client, every, only, requirements, server, since, stateful, until } from "../Requirement.ts"

export const jsonRpc = requirements(
  at("basic#messages", every, {
    "json-rpc.message.conformant": both.must("Every message on the wire is a valid JSON-RPC 2.0 message.")
  }),
  at("basic#requests", every, {
    "json-rpc.request.id-type": both.must("A request carries an id that is a string or an integer."),
    "json-rpc.request.id-not-null": both.mustNot(
      "A request never has a null id, and a request with a null id is rejected."
    )
  }),
  at("basic#requests", stateful, {
    "json-rpc.request.id-unique": both.mustNot("A requestor never uses a request id twice within one session.", {
      sameInAll: true
    })
  }),
  at("basic#responses", every, {
    "json-rpc.response.same-id": both.must("A response carries the id of the request that it answers, value and type."),
    "json-rpc.response.result-or-error": both.must("A response carries a result or an error."),
    "json-rpc.error.code-integer": both.must("The code of an error is an integer.")
  }),
  at("basic#responses", until("2025-06-18"), {
    "json-rpc.response.not-both": both.mustNot("A response never contains both a result and an error.", {
      sameInAll: true
    })
  }),
  at("basic#responses", since("2025-03-26"), {
    "json-rpc.error.code-and-message": both.must("An error carries at least a code and a message.")
  }),
  at("basic#responses", every, {
    "json-rpc.error.message-short": both.should("The message of an error is one concise sentence.")
  }),
  at("basic#notifications", every, {
    "json-rpc.notification.no-id": both.mustNot("A notification never carries an id.")
  }),
  at("basic#notifications", since("2025-03-26"), {
    "json-rpc.notification.no-response": both.mustNot("A notification is never answered, not even with an error.")
  }),
  at("basic#batching", only("2025-03-26"), {
    "json-rpc.batch.receive": both.must(
      "A batch of messages in one array is accepted and each of its messages handled."
    )
  }),
  at("basic#requests", since("2026-07-28"), {
    "json-rpc.request.id-in-flight": both.mustNot(
      "A request never reuses the id of another request whose response the sender still awaits."
    )
  }),
  at("basic#result-responses", since("2026-07-28"), {
    "json-rpc.result.type-included": server.must("Every result has a `resultType`.")
  }),
  at("basic#resulttype", since("2026-07-28"), {
    "json-rpc.result.type-set": both.must(
      "The known types of results are the types of the core protocol and of the declared extensions."
    ),
    "json-rpc.result.type-unknown": client.must("A result of an unknown type is invalid."),
    "json-rpc.result.type-absent": client.must("A result without a type, as older servers send it, is complete.")
  }),
  at("basic#error-codes", since("2026-07-28"), {
    "json-rpc.error.legacy-not-allocated": both.mustNot("No new error code is chosen from -32000 to -32019."),
    "json-rpc.error.legacy-not-used": both.shouldNot("No error code from -32000 to -32019 is used."),
    "json-rpc.error.legacy-no-meaning": both.mustNot(
      "Nothing is concluded from a received code between -32000 and -32019, except -32002."
    ),
    "json-rpc.error.reserved": both.mustNot(
      "No code from -32020 to -32099 is emitted that the specification does not define."
    ),
    "json-rpc.error.meaning": both.must("A code that the specification defines is used only with its meaning."),
    "json-rpc.error.former": both.mustNot("The former codes -32002 and -32042 are not emitted."),
    "json-rpc.error.own-range": both.should("Own error codes lie outside of -32768 to -32000.")
  })
)

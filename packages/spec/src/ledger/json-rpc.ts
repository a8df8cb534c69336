/** Requirements on the JSON-RPC envelope: requests, responses, notifications, batches. */
import { at, both, only, requirements, since, stateful, until } from "../Requirement.ts"

export const jsonRpc = requirements(
  at("basic#messages", stateful, {
    "json-rpc.message.conformant": both.must("Every message on the wire is a valid JSON-RPC 2.0 message.")
  }),
  at("basic#requests", stateful, {
    "json-rpc.request.id-type": both.must("A request carries an id that is a string or an integer."),
    "json-rpc.request.id-not-null": both.mustNot("A request never has a null id, and one that does is refused."),
    "json-rpc.request.id-unique": both.mustNot("A requestor never uses a request id twice within one session.")
  }),
  at("basic#responses", stateful, {
    "json-rpc.response.same-id": both.must("A response carries the id of the request that it answers, value and type."),
    "json-rpc.response.result-or-error": both.must("A response carries a result or an error."),
    "json-rpc.error.code-integer": both.must("The code of an error is an integer.")
  }),
  at("basic#responses", until("2025-06-18"), {
    "json-rpc.response.not-both": both.mustNot("A response never carries a result and an error at once.")
  }),
  at("basic#responses", since("2025-03-26"), {
    "json-rpc.error.code-and-message": both.must("An error carries at least a code and a message.")
  }),
  at("basic#responses", stateful, {
    "json-rpc.error.message-short": both.should("The message of an error is one concise sentence.")
  }),
  at("basic#notifications", stateful, {
    "json-rpc.notification.no-id": both.mustNot("A notification never carries an id.")
  }),
  at("basic#notifications", since("2025-03-26"), {
    "json-rpc.notification.no-response": both.mustNot("A notification is never answered, not even with an error.")
  }),
  at("basic#batching", only("2025-03-26"), {
    "json-rpc.batch.receive": both.must(
      "A batch of messages in one array is accepted and each of its messages handled."
    )
  })
)

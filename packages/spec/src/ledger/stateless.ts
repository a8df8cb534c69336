/** Requirements on requests that stand alone: statelessness, versions, discovery, questions in results, subscriptions. */
import { at, both, client, requirements, server, since } from "../Requirement.ts"

const july = since("2026-07-28")

export const stateless = requirements(
  at("basic#statelessness", july, {
    "stateless.request.no-prior-context": server.mustNot(
      "A server derives no context, such as version, capabilities or identity, from earlier requests on a connection."
    ),
    "stateless.server.many-conversations": server.should(
      "A server handles requests of several conversations concurrently."
    ),
    "stateless.server.any-connection": server.shouldNot(
      "A server does not require that related requests use the same connection or process."
    ),
    "stateless.client.process-lifetime": client.shouldNot(
      "A client does not bind the life of a stdio process to one task or conversation.",
      { note: "The application owns the scope in which the process of a client lives." }
    ),
    "stateless.state.explicit": both.must("State that spans requests is named in each of them by an identifier.")
  }),
  at("basic/patterns", july, {
    "stateless.server.no-requests": server.mustNot("A server never sends a JSON-RPC request.")
  })
)

export const versioning = requirements(
  at("basic", july, {
    "versioning.base.supported": both.must("The base protocol, versioning and the message patterns are supported.")
  }),
  at("basic/versioning#protocol-version-negotiation", july, {
    "versioning.unsupported.error": server.must(
      "A request in a version that the server does not support gets error -32022 with the supported versions."
    ),
    "versioning.unsupported.client-retries": client.should(
      "After error -32022, a client retries with a version that both support, or reports that there is none."
    )
  }),
  at("basic/versioning#extension-negotiation", july, {
    "versioning.extension.identifier": both.must("The name of an extension is a `_meta` key with a prefix."),
    "versioning.extension.advertised": both.must(
      "An extension is declared by its name in `extensions` of the capabilities, with its settings.",
      { plain: true }
    ),
    "versioning.extension.no-settings": both.must("An empty object of settings declares the extension.", {
      plain: true
    }),
    "versioning.extension.unsupported": both.must(
      "If the other side lacks an extension, the core protocol is used or the request is rejected with an error."
    ),
    "versioning.extension.documented": both.should("An extension documents its fallback.", {
      note: "Concerns the author of the extension."
    })
  }),
  at("basic/versioning#backward-compatibility-with-initialization-based-versions", july, {
    "versioning.era.remembered": client.should(
      "A client remembers the era of a server for the life of its process or for its origin."
    ),
    "versioning.initialize.names-versions": server.should(
      "A server without handshake names its versions in the error that it answers `initialize` with."
    )
  }),
  at("deprecated", july, {
    "versioning.deprecated.not-adopted": both.shouldNot("New implementations do not adopt a deprecated feature.", {
      note: "A library serves both; applications choose what they use."
    }),
    "versioning.deprecated.migrated": both.should("Existing implementations migrate before the feature is removed.", {
      note: "A library serves both; applications choose what they use."
    })
  })
)

export const discover = requirements(
  at("server/discover", july, {
    "discover.implemented": server.must("A server answers `server/discover`.")
  }),
  at("server/discover#discoverresult", july, {
    "discover.result.lists": server.must("Discovery returns the server's supported versions and capabilities.", {
      plain: true
    })
  })
)

const page = "basic/patterns/mrtr"

export const mrtr = requirements(
  at(page, july, {
    "mrtr.server.asks-in-results": server.must("A server asks its client for input only in `input_required` results.")
  }),
  at(`${page}#inputrequiredresult`, july, {
    "mrtr.state.opaque": client.mustNot("A client neither reads nor changes a `requestState`.")
  }),
  at(`${page}#supported-requests`, july, {
    "mrtr.result.supported-methods": server.mustNot(
      "Only `tools/call`, `prompts/get` and `resources/read` are answered with `input_required`."
    )
  }),
  at(`${page}#server-requirements-basic-workflow`, july, {
    "mrtr.questions.unique-keys": server.must("The keys of the questions are unique within their request."),
    "mrtr.questions.kinds": server.must("A question is an elicitation, a sampling request or a request for the roots."),
    "mrtr.state.untrusted": server.must("A server treats a `requestState` as written by an attacker."),
    "mrtr.state.protected": server.must("A state that decides about access or logic is protected against changes."),
    "mrtr.state.refused": server.must("A state that fails verification is rejected."),
    "mrtr.state.principal": server.should("A state from another principal is rejected."),
    "mrtr.state.expires": server.should("An expired state is rejected."),
    "mrtr.state.same-request": server.should("A state in a different request than its own is rejected."),
    "mrtr.state.single-use": server.must("What must happen at most once per state is guarded by the server."),
    "mrtr.result.not-empty": server.must("An `input_required` result has questions, a state or both."),
    "mrtr.questions.declared": server.mustNot("No question is of a kind the client did not declare."),
    "mrtr.server.no-assumption": server.mustNot("A server does not assume that the client answers or tries again.")
  }),
  at(`${page}#client-requirements-basic-workflow`, july, {
    "mrtr.client.answers-all": client.must("A client has answers to all questions before it retries."),
    "mrtr.client.state-echoed": client.must("A retry carries the state exactly as it was received."),
    "mrtr.client.state-not-invented": client.mustNot("A retry carries no state if the result had none."),
    "mrtr.client.new-id": client.must("A retry has a different id than the previous attempt."),
    "mrtr.client.only-retry": client.mustNot("Questions and state of a request are used for no other request.")
  }),
  at(`${page}#error-handling`, july, {
    "mrtr.answers.validated": server.should("A server validates answers before it uses them."),
    "mrtr.answers.protocol-error": server.should("Answers that cannot be read are answered with a JSON-RPC error."),
    "mrtr.answers.unknown-ignored": server.should("Answers that nobody asked for are ignored."),
    "mrtr.answers.missing-asked-again": server.should("A question whose answer is missing is asked again.")
  })
)

const listen = "basic/patterns/subscriptions"

export const subscriptions = requirements(
  at(`${listen}#opening-a-stream`, july, {
    "subscriptions.filter.only-requested": server.mustNot(
      "A server only sends notifications that the client asked for."
    )
  }),
  at(`${listen}#acknowledgment`, july, {
    "subscriptions.acknowledged.first": server.must(
      "The first message with the id of a subscription is its acknowledgement."
    ),
    "subscriptions.acknowledged.nothing-before": server.mustNot(
      "No notification of a subscription precedes its acknowledgement."
    ),
    "subscriptions.acknowledged.subset": server.must(
      "The acknowledgement lists the honoured part of the filter, without anything the server does not support.",
      { plain: true }
    ),
    "subscriptions.acknowledged.checked": client.should("A client compares the acknowledged filter with its own.")
  }),
  at(`${listen}#receiving-notifications`, july, {
    "subscriptions.stdio.correlated": client.must(
      "Over stdio a client finds the subscription of a notification by its `subscriptionId`."
    )
  }),
  at(`${listen}#graceful-closure`, july, {
    "subscriptions.end.answered": server.should("A server that ends a subscription answers its request first."),
    "subscriptions.end.id": server.must("The answer to a subscription names it in `_meta`.", { plain: true }),
    "subscriptions.stdio.reopened": client.must(
      "A client whose stdio connection was renewed sends its subscriptions again."
    )
  })
)

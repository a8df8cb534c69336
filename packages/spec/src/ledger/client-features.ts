/** Requirements on roots and sampling. */
import { at, both, client, every, host, only, requirements, server, since, stateful } from "../Requirement.ts"

export const roots = requirements(
  at("client/roots#capabilities", every, {
    "roots.capability.declared": client.must("A client that has roots declares the `roots` capability.")
  }),
  at("client/roots#root-list-changes", stateful, {
    "roots.list-changed.sent": client.must(
      "A client that declared `roots.listChanged` sends a notification when its roots change."
    ),
    "roots.list-changed.server-asks-again": server.should("A server asks for the roots again once they changed.", {
      plain: true
    })
  }),
  at("client/roots#root", every, {
    "roots.uri.file": client.must("The URI of a root is a `file://` URI.")
  }),
  at("client/roots#error-handling", stateful, {
    "roots.error.not-supported": client.should("A client without roots answers error -32601."),
    "roots.error.internal": client.should("A failure inside the client is answered with error -32603.")
  }),
  at("client/roots#security-considerations", every, {
    "roots.client.permitted-only": client.must("A client exposes only roots that it has the permission to expose."),
    "roots.client.uri-validated": client.must("A client validates the URIs of roots against path traversal."),
    "roots.client.access-control": client.must("A client controls access to its roots."),
    "roots.client.monitored": client.must("A client notices when a root becomes inaccessible.", { sameInAll: true }),
    "roots.server.unavailable": server.should("A server copes with roots that become unavailable."),
    "roots.server.boundaries": server.should("A server stays within the boundaries of the roots.", { sameInAll: true }),
    "roots.server.paths-validated": server.should("A server validates every path against the roots.", {
      sameInAll: true
    })
  }),
  at("client/roots#implementation-guidelines", every, {
    "roots.consent": host.should("The user consents before roots are exposed.", { sameInAll: true }),
    "roots.ui": host.should("The user interface makes roots easy to manage."),
    "roots.client.accessibility-validated": client.should(
      "A client checks that a root is accessible before it exposes it."
    ),
    "roots.client.changes-noticed": client.should("A client notices changes of its roots."),
    "roots.server.capability-checked": server.should("A server asks for roots only if the client declared them."),
    "roots.server.cached": server.should("A server caches the roots if that helps.", {
      note: "The author of a handler decides how long a copy of the roots serves."
    })
  }),
  at("client/roots#implementation-guidelines", stateful, {
    "roots.server.changes-handled": server.should("A server handles changes of the roots.")
  }),
  at("client/roots#capabilities", since("2026-07-28"), {
    "roots.capability.each-request": client.must("A client that has roots declares them in every request.")
  })
)

export const sampling = requirements(
  at("client/sampling#user-interaction-model", every, {
    "sampling.consent.human-in-loop": host.should("A human can always deny a sampling request.", { sameInAll: true }),
    "sampling.ui.review": host.should("The user interface makes it easy to review a sampling request."),
    "sampling.ui.edit": host.should("The user can see and edit the prompt before it is sent."),
    "sampling.ui.response-review": host.should("The user can review the response before it is delivered.")
  }),
  at("client/sampling#capabilities", every, {
    "sampling.capability.declared": client.must("A client that samples declares the `sampling` capability.")
  }),
  at("client/sampling#model-preferences", every, {
    "sampling.hints.in-order": client.must("Hints are evaluated in order and the first match is taken.", {
      sameInAll: true
    }),
    "sampling.hints.before-priorities": client.should("Hints go before the numeric priorities.", { sameInAll: true }),
    "sampling.hints.substring": client.should("A hint matches every model whose name contains it.", { sameInAll: true })
  }),
  at("client/sampling#error-handling", stateful, {
    "sampling.error.returned": client.should("A client answers a failed sampling request with an error."),
    "sampling.error.rejected": client.should("A request that the user rejected is answered with an error (code -1).")
  }),
  at("client/sampling#security-considerations", every, {
    "sampling.security.approval": client.should("A client has controls through which its user approves requests."),
    "sampling.security.content-validated": both.should("Both sides validate the content of messages."),
    "sampling.security.hints-respected": client.should("A client respects the hints of the model preferences.", {
      sameInAll: true
    }),
    "sampling.security.rate-limited": client.should("A client limits the rate of sampling requests."),
    "sampling.security.sensitive-data": both.must("Both sides handle sensitive data with care.", {
      note: "What is sensitive is known only to the application."
    })
  }),
  at("client/sampling#tools-in-sampling", since("2025-11-25"), {
    "sampling.tools.capability-declared": client.must(
      "A client that lets the model use tools declares `sampling.tools`."
    ),
    "sampling.tools.not-undeclared": server.mustNot("A server sends no tools to a client without `sampling.tools`.")
  }),
  at("client/sampling#capabilities", since("2025-11-25"), {
    "sampling.context.avoided": server.should("A server avoids the deprecated values of `includeContext`."),
    "sampling.context.not-undeclared": server.shouldNot(
      "A server sends `thisServer` and `allServers` only to a client that declared `sampling.context`."
    )
  }),
  at("client/sampling#creating-messages", since("2025-11-25"), {
    "sampling.tools.undeclared-error": client.must(
      "A client that did not declare `sampling.tools` answers `tools` or `toolChoice` with an error."
    )
  }),
  at("client/sampling#tool-result-messages", since("2025-11-25"), {
    "sampling.tool-results.alone": server.must("A message with tool results contains nothing else.")
  }),
  at("client/sampling#tool-use-and-result-balance", since("2025-11-25"), {
    "sampling.tool-results.balanced": server.must(
      "A message with tool uses is followed by one with exactly their results before any other message."
    ),
    "sampling.tool-results.known-id": server.must("A tool result names the id of an earlier tool use.")
  }),
  at("client/sampling#tool-choice-modes", since("2025-11-25"), {
    "sampling.tool-choice.required": host.must("With mode `required` the model uses at least one tool."),
    "sampling.tool-choice.none": host.mustNot("With mode `none`, the model uses no tools.")
  }),
  at("client/sampling#error-handling", only("2025-11-25"), {
    "sampling.error.missing-tool-result": client.should("A missing tool result is answered with error -32602."),
    "sampling.error.mixed-tool-results": client.should("Tool results mixed with other content get error -32602.")
  }),
  at("client/sampling#security-considerations", since("2025-11-25"), {
    "sampling.tools.iteration-limit": both.should("Both sides limit the iterations of a tool loop."),
    "sampling.tools.structured-result-conforms": server.should(
      "The structured content of a tool result conforms to the output schema of the tool."
    ),
    "sampling.tools.meta-preserved": both.should("The `_meta` of tool uses and tool results survives the next request.")
  }),
  at("client/sampling#capabilities", since("2026-07-28"), {
    "sampling.capability.each-request": client.must("A client that samples declares it in every request.")
  }),
  at("client/sampling#messages", since("2026-07-28"), {
    "sampling.message.role-and-content": server.must("A message has the role `user` or `assistant`, and content."),
    "sampling.messages.not-retained": both.shouldNot("Messages of a sampling request are not retained for another one.")
  }),
  at("client/sampling#sampling-parameters", since("2026-07-28"), {
    "sampling.max-tokens": client.must("A client respects `maxTokens`.", {
      note: "The application's model counts the tokens; the library hands it the limit."
    })
  })
)

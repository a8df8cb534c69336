/** Requirements on elicitation: forms, URL mode, the safety of both. */
import { at, client, host, only, requirements, server, since } from "../Requirement.ts"

const author = { note: "Concerns what the author of the server asks for." }
const webPart = {
  note: "Concerns the web pages and user accounts behind the server, which are outside of the library."
}

export const elicitation = requirements(
  at("client/elicitation#user-interaction-model", since("2025-06-18"), {
    "elicitation.form.nothing-sensitive": server.mustNot(
      "A form never asks for passwords, keys, tokens, payment data or other secrets.",
      author
    ),
    "elicitation.ui.shows-server": host.must("The user interface shows which server asks.", {
      softer: ["2025-06-18"],
      sameInAll: true
    }),
    "elicitation.ui.decline-and-cancel": host.must("The user can decline and cancel; privacy is respected.", {
      softer: ["2025-06-18"],
      sameInAll: true
    }),
    "elicitation.ui.review": host.must("The user can review and change the answers of a form before they are sent.", {
      softer: ["2025-06-18"],
      sameInAll: true
    })
  }),
  at("client/elicitation#user-interaction-model", since("2025-11-25"), {
    "elicitation.url.for-sensitive": server.must("What is sensitive is asked for in URL mode.", author),
    "elicitation.ui.url-consent": host.must("The user interface shows the host of a URL and asks for consent first.", {
      sameInAll: true
    })
  }),
  at("client/elicitation#capabilities", since("2025-06-18"), {
    "elicitation.capability.declared": client.must("A client that elicits declares the `elicitation` capability.")
  }),
  at("client/elicitation#capabilities", since("2025-11-25"), {
    "elicitation.capability.one-mode": client.must(
      "A client that declares `elicitation` supports form or URL mode, and an empty object means form mode."
    ),
    "elicitation.mode.not-undeclared": server.mustNot("A server never asks in a mode that the client did not declare.")
  }),
  at("client/elicitation#elicitation-requests", since("2025-11-25"), {
    "elicitation.request.mode-and-message": server.must("A request has a message, and a mode unless it is a form."),
    "elicitation.mode.absent-is-form": client.must("A client treats a request without a mode as a form request.")
  }),
  at("client/elicitation#form-mode-elicitation-requests", since("2025-11-25"), {
    "elicitation.form.request": server.must("A form request has the mode `form` or no mode, and a `requestedSchema`.")
  }),
  at("client/elicitation#requested-schema", since("2025-11-25"), {
    "elicitation.form.defaults": host.should("A form shows the default values of its schema.", { sameInAll: true })
  }),
  at("client/elicitation#url-mode-elicitation-requests", since("2025-11-25"), {
    "elicitation.url.valid": server.must("The `url` of a request is a valid URL.")
  }),
  at("client/elicitation#url-mode-elicitation-requests", only("2025-11-25"), {
    "elicitation.url.request": server.must("A URL request has mode `url`, a message, a `url` and an `elicitationId`."),
    "elicitation.url.id-unique": server.must("An `elicitationId` is unique within its server.", { plain: true }),
    "elicitation.url.id-opaque": client.must("A client treats an `elicitationId` as an opaque value.")
  }),
  at("client/elicitation#completion-notifications-for-url-mode-elicitation", only("2025-11-25"), {
    "elicitation.complete.initiator-only": server.must("Only the client that was asked is notified of the completion."),
    "elicitation.complete.id": server.must("The notification of completion has the `elicitationId` of the request."),
    "elicitation.complete.unknown-ignored": client.must(
      "A client ignores a notification of completion whose id is unknown or already completed."
    ),
    "elicitation.complete.manual-controls": host.should(
      "The user can retry or cancel by hand when no notification of completion arrives."
    )
  }),
  at("client/elicitation#url-elicitation-required-error", only("2025-11-25"), {
    "elicitation.required-error.only-if-required": server.mustNot(
      "Error -32042 is returned only if a URL elicitation is required."
    ),
    "elicitation.required-error.lists": server.must("Error -32042 lists the elicitations that are required."),
    "elicitation.required-error.url-mode": server.must(
      "Each elicitation in error -32042 is in URL mode and has an `elicitationId`."
    )
  }),
  at("client/elicitation#statefulness", since("2025-11-25"), {
    "elicitation.state.bound-to-user": server.must("State of an elicitation is bound to an individual user.", webPart),
    "elicitation.state.protected": server.must(
      "The storage of the state is protected against unauthorized access.",
      webPart
    ),
    "elicitation.state.user-from-credentials": server.must(
      "A remote server identifies the user by the credentials of MCP authorization where possible.",
      webPart
    )
  }),
  at("client/elicitation#statefulness", only("2025-11-25"), {
    "elicitation.state.not-session-alone": server.mustNot("State is never bound to a session id alone.", webPart)
  }),
  at("client/elicitation#url-mode-elicitation-for-oauth-flows", since("2025-11-25"), {
    "elicitation.url.not-own-authorization": server.mustNot(
      "A server never authorizes users for itself through URL mode.",
      webPart
    )
  }),
  at("client/elicitation#understanding-the-distinction", since("2025-11-25"), {
    "elicitation.third-party.not-through-client": server.mustNot(
      "Credentials of a third party never pass through the client.",
      webPart
    ),
    "elicitation.third-party.not-clients-token": server.mustNot(
      "A server never uses the client's token for a third party.",
      webPart
    ),
    "elicitation.third-party.direct-authorization": server.must(
      "The user authorizes the server at the third party directly, not through the client.",
      webPart
    ),
    "elicitation.third-party.not-transmitted": server.mustNot(
      "A server never transmits credentials that it got through URL mode to the client.",
      webPart
    )
  }),
  at("client/elicitation#error-handling", only("2025-11-25"), {
    "elicitation.error.required": server.must(
      "A request that cannot go on before an elicitation completed is answered with error -32042."
    ),
    "elicitation.error.undeclared-mode": client.must("A mode that the client did not declare gets error -32602.")
  }),
  at("client/elicitation#security-considerations", since("2025-06-18"), {
    "elicitation.client.approval": client.should("A client has controls through which its user approves requests."),
    "elicitation.client.decline": client.should("A client can decline at any time."),
    "elicitation.ui.clear": host.should("The user interface makes clear what is requested and why."),
    "elicitation.form.client-validates": client.should("A client validates answers against the requested schema."),
    "elicitation.form.server-validates": server.should("A server validates answers against the schema it requested.")
  }),
  at("client/elicitation#security-considerations", since("2025-06-18", "2025-11-25"), {
    "elicitation.client.rate-limited": client.should("A client limits the rate of elicitation requests.")
  }),
  at("client/elicitation#security-considerations", since("2025-11-25"), {
    "elicitation.request.bound": server.must("An elicitation is bound to the client and the user it was made for.")
  }),
  at("client/elicitation#safe-url-handling", since("2025-11-25"), {
    "elicitation.url.nothing-sensitive": server.mustNot("The URL contains nothing sensitive about the user.", author),
    "elicitation.url.not-preauthenticated": server.mustNot(
      "The URL alone does not grant access to anything protected.",
      author
    ),
    "elicitation.form.no-urls": server.shouldNot(
      "No field of a form contains a URL that is meant to be clicked.",
      author
    ),
    "elicitation.url.https": server.should("The URL uses HTTPS outside of development.", author),
    "elicitation.url.handled-carefully": client.must(
      "A client prevents its user from unknowingly opening a malicious URL."
    ),
    "elicitation.url.not-prefetched": client.mustNot("A client never fetches the URL or its metadata automatically."),
    "elicitation.url.consent": client.mustNot("A client never opens the URL without explicit consent of the user."),
    "elicitation.url.shown-in-full": client.must("A client shows the full URL to the user before it asks for consent."),
    "elicitation.url.opened-securely": host.must(
      "The URL is opened in a way that client and model cannot inspect the page or the user's input."
    ),
    "elicitation.ui.domain-highlighted": host.should("The user interface highlights the domain of the URL.", {
      sameInAll: true
    }),
    "elicitation.ui.suspicious-warned": host.should("The user interface warns of a suspicious URL, such as Punycode.", {
      sameInAll: true
    }),
    "elicitation.ui.not-clickable": host.shouldNot("No URL is clickable except for the URL of a URL elicitation.")
  }),
  at("client/elicitation#identifying-the-user", since("2025-11-25"), {
    "elicitation.user.not-client-provided": server.mustNot(
      "A server never relies on an identity that the client provides unless it verified it.",
      webPart
    ),
    "elicitation.user.best-practices": server.should(
      "A server identifies users by the security best practices.",
      webPart
    )
  }),
  at("client/elicitation#phishing", since("2025-11-25"), {
    "elicitation.phishing.identity-verified": server.must(
      "A server verifies who opens the URL before it accepts information.",
      webPart
    ),
    "elicitation.phishing.same-user": server.must(
      "The user who completes a URL elicitation is the one for whom it was started.",
      webPart
    ),
    "elicitation.phishing.resilient": server.must(
      "The identity of the user is determined even if an attacker changes the URL.",
      webPart
    )
  }),
  at("client/elicitation#capabilities", since("2026-07-28"), {
    "elicitation.capability.each-request": client.must("A client that elicits declares it in every request.")
  }),
  at("client/elicitation#url-mode-elicitation-requests", since("2026-07-28"), {
    "elicitation.url.fields": server.must("A URL request has mode `url`, a message and a `url`.")
  }),
  at("client/elicitation#example-request-sensitive-data", since("2026-07-28"), {
    "elicitation.url.manual-controls": host.should("The user can retry or cancel the request that asked.")
  }),
  at("client/elicitation#error-handling", since("2026-07-28"), {
    "elicitation.error.not-assumed": server.shouldNot("A server does not assume that an elicitation succeeds."),
    "elicitation.error.handled": server.must("A server handles users who decline or cancel, and clients that fail.")
  })
)

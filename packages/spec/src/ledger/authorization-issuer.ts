/** Requirements of authorization on authorization servers, which this library does not contain. */
import { at, authorizationServer, only, requirements, since } from "../Requirement.ts"

const page = "basic/authorization"

export const authorizationIssuer = requirements(
  at(`${page}#overview`, since("2025-03-26"), {
    "authorization.issuer.oauth-2-1": authorizationServer.must("It implements OAuth 2.1 for all kinds of clients.")
  }),
  at(`${page}#dynamic-client-registration`, since("2025-03-26", "2025-06-18"), {
    "authorization.issuer.registration-dynamic": authorizationServer.should("It supports dynamic client registration.")
  }),
  at(`${page}#server-metadata-discovery`, since("2025-03-26", "2025-06-18"), {
    "authorization.issuer.metadata-rfc8414": authorizationServer.must("It serves its metadata by RFC 8414.", {
      softer: ["2025-03-26"]
    })
  }),
  at(`${page}#server-metadata-discovery`, only("2025-03-26"), {
    "authorization.issuer.default-paths": authorizationServer.must("Without metadata it serves the default paths.")
  }),
  at(`${page}#security-considerations`, since("2025-03-26"), {
    "authorization.issuer.https": authorizationServer.must("All of its endpoints are served over HTTPS."),
    "authorization.issuer.redirect-validated": authorizationServer.must("It validates redirect URIs exactly."),
    "authorization.issuer.tokens-short-lived": authorizationServer.should("The tokens that it issues are short-lived.")
  }),
  at(`${page}#token-theft`, since("2025-03-26"), {
    "authorization.issuer.tokens-rotated": authorizationServer.must(
      "It rotates the refresh tokens of public clients.",
      {
        softer: ["2025-03-26"]
      }
    )
  }),
  at(`${page}#session-binding-requirements`, only("2025-03-26"), {
    "authorization.issuer.third-party-mapping": authorizationServer.must(
      "It maps third-party tokens to its own securely."
    ),
    "authorization.issuer.third-party-status": authorizationServer.must(
      "It checks third-party tokens before it honours its own."
    ),
    "authorization.issuer.third-party-lifecycle": authorizationServer.must("It manages the life of tokens."),
    "authorization.issuer.third-party-renewal": authorizationServer.must("It renews third-party tokens that expire.")
  }),
  at(`${page}#security-considerations-1`, only("2025-03-26"), {
    "authorization.issuer.third-party-redirects": authorizationServer.must(
      "It validates all redirect URIs of a third party."
    ),
    "authorization.issuer.third-party-stored": authorizationServer.must("It stores third-party credentials securely."),
    "authorization.issuer.third-party-timeout": authorizationServer.must("Its sessions time out."),
    "authorization.issuer.third-party-chaining": authorizationServer.must("It addresses the risks of chained tokens."),
    "authorization.issuer.third-party-errors": authorizationServer.must(
      "It handles errors of third-party authorization."
    )
  }),
  at(`${page}#token-handling`, only("2025-06-18"), {
    "authorization.issuer.own-resources": authorizationServer.must("It accepts only tokens for its own resources.")
  }),
  at(`${page}#open-redirection`, since("2025-06-18"), {
    "authorization.issuer.redirect-precautions": authorizationServer.must("It never redirects to an untrusted URI."),
    "authorization.issuer.redirect-trusted": authorizationServer.should(
      "It only redirects automatically to trusted URIs."
    )
  }),
  at(`${page}#overview`, since("2025-11-25"), {
    "authorization.issuer.metadata-any": authorizationServer.must("It serves OAuth metadata or OpenID metadata.")
  }),
  at(`${page}#client-id-metadata-documents`, since("2025-11-25"), {
    "authorization.issuer.id-document": authorizationServer.should("It supports Client ID Metadata Documents.")
  }),
  at(`${page}#implementation-requirements`, since("2025-11-25"), {
    "authorization.issuer.id-document-fetched": authorizationServer.should(
      "It fetches the document of a `client_id` URL."
    ),
    "authorization.issuer.id-document-matches": authorizationServer.must(
      "It checks that the document has this very URL."
    ),
    "authorization.issuer.id-document-cached": authorizationServer.should(
      "It caches documents as their headers allow."
    ),
    "authorization.issuer.id-document-redirects": authorizationServer.must(
      "It checks redirect URIs against the document."
    ),
    "authorization.issuer.id-document-valid": authorizationServer.must("It checks the structure of the document."),
    "authorization.issuer.id-document-security": authorizationServer.must("It considers the risks of such documents."),
    "authorization.issuer.id-document-ssrf": authorizationServer.should(
      "It guards its fetches against request forgery."
    )
  }),
  at(`${page}#authorization-code-protection`, since("2025-11-25"), {
    "authorization.issuer.pkce-metadata": authorizationServer.must(
      "Its OpenID metadata have `code_challenge_methods_supported`."
    )
  }),
  at(`${page}#localhost-redirect-uri-risks`, since("2025-11-25"), {
    "authorization.issuer.localhost-warned": authorizationServer.should("It warns of redirects to localhost only."),
    "authorization.issuer.redirect-host-shown": authorizationServer.must("It shows the host of the redirect URI.")
  }),
  at(`${page}#authorization-response-validation`, since("2026-07-28"), {
    "authorization.issuer.iss-included": authorizationServer.should("Its responses include `iss`."),
    "authorization.issuer.iss-advertised": authorizationServer.must(
      "It advertises in its metadata that it sends `iss`."
    )
  })
)

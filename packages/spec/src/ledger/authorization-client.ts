/** Requirements of authorization on clients: discovery, registration, scopes, tokens, PKCE. */
import { at, both, client, host, only, requirements, since } from "../Requirement.ts"

const page = "basic/authorization"

export const authorizationClient = requirements(
  at(`${page}#protocol-requirements`, since("2025-03-26"), {
    "authorization.http.conforms": both.should("Authorization over HTTP follows the authorization specification."),
    "authorization.stdio.environment": both.shouldNot(
      "Over stdio, credentials come from the environment, not from OAuth.",
      { sameInAll: true }
    ),
    "authorization.other.best-practices": both.must(
      "Other transports follow the security practices of their protocol.",
      {
        note: "Concerns the author of the transport."
      }
    )
  }),
  at(`${page}#overview`, since("2025-03-26"), {
    "authorization.oauth-2-1": both.must("Authorization is OAuth 2.1, for confidential and for public clients.")
  }),
  at(`${page}#dynamic-client-registration`, since("2025-03-26", "2025-06-18"), {
    "authorization.client.registration-dynamic": client.should(
      "A client supports dynamic client registration (RFC 7591)."
    )
  }),
  at(`${page}#server-metadata-discovery`, since("2025-03-26", "2025-06-18"), {
    "authorization.client.metadata-rfc8414": client.must(
      "A client gets the metadata of the authorization server by RFC 8414."
    )
  }),
  at(`${page}#server-metadata-discovery-headers`, only("2025-03-26"), {
    "authorization.client.metadata-version-header": client.should("Metadata requests carry `MCP-Protocol-Version`.")
  }),
  at(`${page}#authorization-base-url`, only("2025-03-26"), {
    "authorization.client.base-url": client.must(
      "The authorization base URL is the URL of the server without its path."
    ),
    "authorization.client.base-url-metadata": client.must(
      "The metadata are at `/.well-known/oauth-authorization-server` of the base URL."
    )
  }),
  at(`${page}#fallbacks-for-servers-without-metadata-discovery`, only("2025-03-26"), {
    "authorization.client.default-paths": client.must(
      "Without metadata a client uses `/authorize`, `/token` and `/register` of the base URL."
    ),
    "authorization.client.metadata-before-defaults": client.must(
      "A client looks for metadata before it uses default paths."
    )
  }),
  at(`${page}#overview`, since("2025-06-18"), {
    "authorization.client.resource-metadata": client.must(
      "A client finds the authorization server by Protected Resource Metadata (RFC 9728)."
    )
  }),
  at(`${page}#authorization-server-discovery`, since("2025-06-18"), {
    "authorization.client.parses-challenge": client.must("A client parses `WWW-Authenticate` and acts on a 401.")
  }),
  at(`${page}#protected-resource-metadata-discovery-requirements`, since("2025-11-25"), {
    "authorization.client.resource-metadata-both": client.must(
      "A client finds resource metadata by the challenge and by well-known URIs."
    ),
    "authorization.client.resource-metadata-order": client.must(
      "Without a URL in the challenge, a client first tries the well-known URI of the path, then the one at the root."
    ),
    "authorization.client.scopes-unrelated": client.mustNot(
      "A client assumes no relation between challenged scopes and `scopes_supported`."
    ),
    "authorization.client.scopes-authoritative": client.must(
      "A client treats the scopes in a challenge as authoritative."
    )
  }),
  at(`${page}#protected-resource-metadata-discovery-requirements`, only("2025-11-25"), {
    "authorization.client.scopes-fallback": client.should(
      "Without `scope` in a challenge, a client uses the fallback strategy."
    )
  }),
  at(`${page}#overview`, since("2025-11-25"), {
    "authorization.client.metadata-both": client.must("A client supports RFC 8414 as well as OpenID Connect Discovery.")
  }),
  at(`${page}#authorization-server-metadata-discovery`, since("2025-11-25"), {
    "authorization.client.metadata-several": client.must(
      "A client tries several well-known endpoints for the metadata."
    ),
    "authorization.client.metadata-order-path": client.must(
      "For an issuer with a path: OAuth and OpenID with the path inserted, then OpenID with the path before."
    ),
    "authorization.client.metadata-order-root": client.must("For an issuer without a path: OAuth first, then OpenID.")
  }),
  at(`${page}#client-registration-approaches`, since("2025-11-25"), {
    "authorization.client.registration-order": client.should(
      "A client tries pre-registration, metadata documents, dynamic registration and the user, in this order."
    )
  }),
  at(`${page}#client-id-metadata-documents`, since("2025-11-25"), {
    "authorization.client.id-document": client.should("A client supports Client ID Metadata Documents.")
  }),
  at(`${page}#implementation-requirements`, since("2025-11-25"), {
    "authorization.client.id-document-rules": client.must("Metadata documents follow their own specification."),
    "authorization.client.id-document-hosted": host.must("The metadata document is hosted at an HTTPS URL."),
    "authorization.client.id-document-url": client.must("A `client_id` URL has the scheme `https` and a path."),
    "authorization.client.id-document-fields": client.must(
      "The metadata document has `client_id`, `client_name` and `redirect_uris`."
    ),
    "authorization.client.id-document-matches": client.must(
      "The `client_id` in the document is the URL of the document."
    )
  }),
  at(`${page}#discovery`, since("2025-11-25"), {
    "authorization.client.id-document-checked": client.should(
      "A client checks that the authorization server supports metadata documents."
    )
  }),
  at(`${page}#preregistration`, since("2025-11-25"), {
    "authorization.client.static-credentials": client.should("A client can be given static credentials.")
  }),
  at(`${page}#scope-selection-strategy`, since("2025-11-25"), {
    "authorization.client.least-privilege": client.should("A client asks only for the scopes that it needs."),
    "authorization.client.scope-order": client.should(
      "A client requests the challenged scopes, or else `scopes_supported`, or else no scopes."
    )
  }),
  at(`${page}#resource-parameter-implementation`, since("2025-06-18"), {
    "authorization.client.resource-indicators": client.must("A client implements Resource Indicators (RFC 8707)."),
    "authorization.client.resource-in-both": client.must("`resource` is in authorization requests and token requests."),
    "authorization.client.resource-identifies": client.must("`resource` identifies the server that the token is for."),
    "authorization.client.resource-canonical": client.must("`resource` is the canonical URI of the server.")
  }),
  at(`${page}#canonical-server-uri`, since("2025-06-18"), {
    "authorization.client.resource-specific": client.should("`resource` is as specific as possible."),
    "authorization.resource-case": both.should("Upper case in the scheme and host of a server URI is accepted."),
    "authorization.resource-no-trailing-slash": both.should(
      "A server URI has no trailing slash unless it has a meaning."
    ),
    "authorization.client.resource-always": client.must(
      "`resource` is sent even if the authorization server does not know it."
    )
  }),
  at(`${page}#token-requirements`, since("2025-03-26"), {
    "authorization.token.oauth-section-5": both.must("Tokens are handled by OAuth 2.1 section 5."),
    "authorization.client.header": client.must("A client sends its token in the `Authorization` header."),
    "authorization.client.every-request": client.must("Every HTTP request carries the token."),
    "authorization.client.not-in-query": client.mustNot("A token is never in the query of a URI.")
  }),
  at(`${page}#token-handling`, since("2025-06-18"), {
    "authorization.client.own-tokens-only": client.mustNot(
      "A client never sends a token that the server's authorization server did not issue."
    )
  }),
  at(`${page}#step-up-authorization-flow`, since("2025-11-25"), {
    "authorization.client.step-up": client.should("A client answers a scope error with a request for more scopes."),
    "authorization.client.step-up-user": client.should("A client that acts for a user attempts the step-up flow."),
    "authorization.client.step-up-limited": client.should("A client limits how often it tries again."),
    "authorization.client.step-up-tracked": client.should("A client tracks its attempts to get more scopes.")
  }),
  at(`${page}#security-considerations`, since("2025-03-26"), {
    "authorization.security.best-practices": both.must("The security practices of OAuth 2.1 section 7 are followed."),
    "authorization.client.tokens-stored": client.must("A client stores tokens securely.", { sameInAll: true }),
    "authorization.redirect-uri": client.must("A redirect URI is on localhost or uses HTTPS.")
  }),
  at(`${page}#communication-security`, since("2025-06-18"), {
    "authorization.security.communication": both.must("Communication is secured by OAuth 2.1 section 1.5.")
  }),
  at(`${page}#authorization-code-protection`, since("2025-03-26"), {
    "authorization.client.pkce": client.must("A client uses PKCE.")
  }),
  at(`${page}#authorization-code-protection`, since("2025-11-25"), {
    "authorization.client.pkce-verified": client.must("A client verifies that PKCE is supported before it continues."),
    "authorization.client.pkce-s256": client.must("A client uses the challenge method `S256` if it can."),
    "authorization.client.pkce-by-metadata": client.must("A client learns of PKCE support from the metadata."),
    "authorization.client.pkce-absent-refused": client.must(
      "A client rejects OAuth metadata without `code_challenge_methods_supported`."
    ),
    "authorization.client.pkce-absent-refused-oidc": client.must(
      "A client rejects OpenID metadata without `code_challenge_methods_supported`."
    )
  }),
  at(`${page}#open-redirection`, since("2025-06-18"), {
    "authorization.client.redirect-registered": client.must("A client registers its redirect URIs."),
    "authorization.client.state": client.should(
      "A client sends `state` and discards answers without it or with another."
    )
  }),
  at(`${page}#authorization-server-discovery`, since("2026-07-28"), {
    "authorization.discovery.conforms": both.must("Discovery follows the rules of its own page.")
  }),
  at(`${page}/authorization-server-discovery#authorization-server-location`, since("2026-07-28"), {
    "authorization.client.state-per-issuer": client.must(
      "A client stores registrations and tokens separately for each authorization server."
    ),
    "authorization.client.credentials-not-assumed": client.mustNot(
      "A client does not assume that credentials of one authorization server are good for another."
    )
  }),
  at(`${page}/authorization-server-discovery#authorization-server-metadata-discovery`, since("2026-07-28"), {
    "authorization.client.metadata-issuer": client.must(
      "A client rejects metadata whose `issuer` is not identical to the issuer that it was requested for."
    )
  }),
  at(`${page}#client-registration`, since("2026-07-28"), {
    "authorization.client.id-first": client.must("A client has a client id before it starts the flow.")
  }),
  at(`${page}/client-registration#application-type-and-redirect-uri-constraints`, since("2026-07-28"), {
    "authorization.client.application-type": client.must("A dynamic registration has an `application_type`."),
    "authorization.client.application-type-native": client.should("A native application registers as `native`."),
    "authorization.client.application-type-web": client.should("A web application registers as `web`."),
    "authorization.client.registration-refused": client.must("A client handles a rejected registration."),
    "authorization.client.registration-reported": client.should(
      "A client reports a rejected registration with its reason."
    )
  }),
  at(`${page}/client-registration#authorization-server-binding`, since("2026-07-28"), {
    "authorization.client.credentials-bound": client.must("Stored client credentials are bound to their issuer."),
    "authorization.client.credentials-not-reused": client.mustNot(
      "Client credentials are never used at another authorization server than their own."
    ),
    "authorization.client.registers-again": client.must("A client registers anew with a new authorization server."),
    "authorization.client.mismatch-reported": client.should(
      "Pre-registered credentials that do not fit the authorization server are reported."
    )
  }),
  at(`${page}#scope-selection-strategy`, since("2026-07-28"), {
    "authorization.client.scopes-added": client.should(
      "A client requests challenged scopes in addition to the scopes it has."
    )
  }),
  at(`${page}#authorization-response-validation`, since("2026-07-28"), {
    "authorization.client.issuer-recorded": client.must(
      "A client records the validated issuer with the PKCE verifier before it redirects."
    ),
    "authorization.client.iss-validated": client.must("A client validates `iss` before it sends the code anywhere."),
    "authorization.client.iss-exact": client.mustNot("An `iss` is compared without any normalization."),
    "authorization.client.iss-error-hidden": client.mustNot(
      "After a mismatch of `iss` a client neither uses nor shows the error of the response."
    )
  }),
  at(`${page}#refresh-tokens`, since("2026-07-28"), {
    "authorization.client.refresh-confidential": client.must("Refresh tokens are kept confidential.", {
      sameInAll: true
    }),
    "authorization.client.refresh-registered": client.should("A client that refreshes registers `refresh_token`."),
    "authorization.client.refresh-not-assumed": client.mustNot("A client does not assume that it gets a refresh token.")
  }),
  at(`${page}#security-considerations`, since("2026-07-28"), {
    "authorization.security.conforms": both.must("The requirements of the page on security are followed.")
  })
)

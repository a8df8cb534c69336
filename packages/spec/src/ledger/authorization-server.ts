/** Requirements of authorization on MCP servers, which are OAuth resource servers. */
import { at, both, only, requirements, server, since } from "../Requirement.ts"

const page = "basic/authorization"

export const authorizationServer = requirements(
  at(`${page}#overview`, since("2025-06-18"), {
    "authorization.server.resource-metadata": server.must("A server serves Protected Resource Metadata (RFC 9728).")
  }),
  at(`${page}#authorization-server-location`, since("2025-06-18"), {
    "authorization.server.resource-metadata-issuers": server.must(
      "The metadata name at least one authorization server in `authorization_servers`."
    )
  }),
  at(`${page}#authorization-server-location`, only("2025-06-18"), {
    "authorization.server.challenge-metadata-url": server.must(
      "A 401 contains the URL of the metadata in `WWW-Authenticate`."
    )
  }),
  at(`${page}#protected-resource-metadata-discovery-requirements`, since("2025-11-25"), {
    "authorization.server.resource-metadata-found": server.must(
      "The metadata can be found by the challenge or at a well-known URI."
    ),
    "authorization.server.challenge-scope": server.should("A challenge names the scopes that are needed."),
    "authorization.server.scopes-consistent": server.should("Sets of scopes are made consistently.")
  }),
  at(`${page}#example-authorization-code-grant`, only("2025-03-26"), {
    "authorization.server.unproven-401": server.must("A request without the needed authorization is answered with 401.")
  }),
  at(`${page}#token-handling`, since("2025-03-26"), {
    "authorization.server.token-validated": server.must("A server validates access tokens by OAuth 2.1 section 5.2."),
    "authorization.server.validation-failure": server.must("A failed validation is answered by OAuth 2.1 section 5.3."),
    "authorization.server.invalid-token-401": server.must("An invalid or expired token is answered with 401.")
  }),
  at(`${page}#token-handling`, since("2025-06-18"), {
    "authorization.server.audience": server.must("A server accepts only tokens that were issued for it."),
    "authorization.server.no-other-tokens": server.mustNot("A server neither accepts nor passes on any other token.")
  }),
  at(`${page}#token-handling`, since("2025-11-25"), {
    "authorization.server.own-resources": server.must(
      "A server accepts only tokens that are valid for its own resources."
    )
  }),
  at(`${page}#error-handling`, since("2025-03-26"), {
    "authorization.server.status-401": server.must("A missing or invalid token is answered with 401."),
    "authorization.server.status-403": server.must(
      "A token without the needed scopes or permissions is answered with 403."
    ),
    "authorization.server.status-400": server.must("A malformed authorization request is answered with 400.")
  }),
  at(`${page}#runtime-insufficient-scope-errors`, since("2025-11-25"), {
    "authorization.server.insufficient-scope": server.should(
      "Insufficient scope is answered with 403 and a `Bearer` challenge that has `error`, `scope`, `resource_metadata`."
    ),
    "authorization.server.insufficient-scope-scopes": server.should(
      "The challenge for insufficient scope names the scopes that this request needs."
    ),
    "authorization.server.scope-strategy-consistent": server.should("The choice of scopes follows one strategy."),
    "authorization.server.scope-user-experience": server.should(
      "The choice of scopes spares the user needless dialogs.",
      {
        note: "The author of the server chooses the scopes."
      }
    )
  }),
  at(`${page}#token-theft`, since("2025-06-18"), {
    "authorization.server.tokens-stored": server.must("A server stores and logs no token insecurely.")
  }),
  at(`${page}#access-token-privilege-restriction`, since("2025-06-18"), {
    "authorization.server.before-processing": server.must("A token is validated before the request is processed."),
    "authorization.server.unauthorized-gets-nothing": server.must("An unauthorized party receives no data."),
    "authorization.server.audience-rejected": server.must("A token without this server in its audience is rejected."),
    "authorization.server.no-passthrough": server.mustNot("A server never passes the client's token to another API.")
  }),
  at(`${page}#confused-deputy-problem`, since("2025-06-18"), {
    "authorization.server.proxy-consent": server.must(
      "A proxy with a static client id gets consent for each dynamically registered client.",
      { note: "Concerns proxies that are authorization servers themselves." }
    )
  }),
  at(`${page}#oauth-grant-types`, only("2025-03-26"), {
    "authorization.server.grant-types": both.should("The grant types fit the intended audience.", {
      note: "The operator of the authorization server chooses them."
    })
  }),
  at(`${page}#refresh-tokens`, since("2026-07-28"), {
    "authorization.server.no-offline-access": server.shouldNot("A server does not ask for `offline_access`.")
  }),
  at(`${page}#runtime-insufficient-scope-errors`, since("2026-07-28"), {
    "authorization.server.challenge-at-once": server.should("One challenge names all scopes that the operation needs.")
  }),
  at(`${page}#step-up-authorization-flow`, since("2026-07-28"), {
    "authorization.server.scope-hierarchy": server.must("A broader scope includes the narrower scopes that it implies.")
  })
)

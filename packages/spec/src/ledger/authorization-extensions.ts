/** Requirements of the extensions of authorization: enterprise-managed authorization and client credentials. */
import { at, authorizationServer, both, client, requirements, since } from "../Requirement.ts"

const revisions = since("2025-11-25")
const enterprise = "extensions/auth/enterprise-managed-authorization"
const machine = "extensions/auth/oauth-client-credentials"

/** Extension `io.modelcontextprotocol/enterprise-managed-authorization`. */
export const enterpriseAuthorization = requirements(
  at(`${enterprise}#token-exchange`, revisions, {
    "enterprise-authorization.exchange.request": client.must(
      "A client gets its ID-JAG by a token exchange (RFC 8693) at the token endpoint of the identity provider."
    ),
    "enterprise-authorization.exchange.requested-type": client.must(
      "The exchange asks for an ID-JAG by its token type."
    ),
    "enterprise-authorization.exchange.audience": client.must(
      "Its `audience` is the issuer of the MCP server's authorization server."
    ),
    "enterprise-authorization.exchange.resource": client.must("Its `resource` is the identifier of the MCP server."),
    "enterprise-authorization.exchange.subject": client.must(
      "Its `subject_token` is the identity assertion, and `subject_token_type` names the kind of assertion."
    ),
    "enterprise-authorization.exchange.client-authentication": client.must(
      "A client that authenticates for single sign-on does so for the exchange.",
      { plain: true }
    )
  }),
  at(`${enterprise}#processing-rules`, revisions, {
    "enterprise-authorization.provider.subject-validated": authorizationServer.must(
      "The identity provider validates the identity assertion."
    ),
    "enterprise-authorization.provider.audience-validated": authorizationServer.must(
      "The identity provider accepts an identity assertion only from the client that it was issued to."
    )
  }),
  at(`${enterprise}#token-exchange-response`, revisions, {
    "enterprise-authorization.provider.response": authorizationServer.must(
      "The answer holds the ID-JAG as `access_token`, its issued type, and `N_A` as its token type."
    ),
    "enterprise-authorization.provider.lifetime": authorizationServer.should("The answer holds the ID-JAG's lifetime."),
    "enterprise-authorization.exchange.issued-type": client.must(
      "A client does not use a token as an ID-JAG if it was issued as another type.",
      { plain: true }
    )
  }),
  at(`${enterprise}#identity-assertion-jwt-authorization-grant`, revisions, {
    "enterprise-authorization.provider.grant-claims": authorizationServer.must(
      "An ID-JAG names issuer, subject, audience, resource, client, its own id, when it was made and when it ends."
    ),
    "enterprise-authorization.provider.grant-client": authorizationServer.should(
      "The client of an ID-JAG is a `client_id` as RFC 8693 defines it."
    ),
    "enterprise-authorization.provider.grant-type": authorizationServer.must(
      "The type of an ID-JAG is `oauth-id-jag+jwt`."
    )
  }),
  at(`${enterprise}#access-token-request`, revisions, {
    "enterprise-authorization.token.grant-type": client.must("The token is asked for by the grant of RFC 7523."),
    "enterprise-authorization.token.assertion": client.must("The ID-JAG is the `assertion` of that request."),
    "enterprise-authorization.token.client-authentication": client.must(
      "A client authenticates as it is registered at the MCP server's authorization server.",
      { plain: true }
    ),
    "enterprise-authorization.issuer.audience": authorizationServer.must(
      "It only accepts an ID-JAG with itself as the audience."
    ),
    "enterprise-authorization.issuer.client": authorizationServer.must(
      "It only accepts an ID-JAG from the client that the ID-JAG names."
    ),
    "enterprise-authorization.issuer.grant-type": authorizationServer.must("It checks the type of the ID-JAG.", {
      plain: true
    })
  })
)

/** Extension `io.modelcontextprotocol/oauth-client-credentials`. */
export const clientCredentials = requirements(
  at(`${machine}#extension-requirements`, revisions, {
    "client-credentials.baseline": client.must(
      "A client follows the general authorization rules, such as discovery and the resource parameter."
    ),
    "client-credentials.conforms": both.must("An implementation of the extension follows all of it.", {
      note: "The other entries of the extension prove it."
    })
  }),
  at(`${machine}#overview`, revisions, {
    "client-credentials.no-registration": client.mustNot("A client does not register itself in this flow.", {
      plain: true
    })
  }),
  at(`${machine}#client-authentication-methods`, revisions, {
    "client-credentials.authenticates": client.must("A client authenticates by a signed JWT or by its secret."),
    "client-credentials.jwt": client.should("A client can authenticate by a signed JWT (RFC 7523).")
  }),
  at(`${machine}#server-metadata-requirements`, revisions, {
    "client-credentials.issuer.methods": authorizationServer.must(
      "Its metadata list `private_key_jwt` or `client_secret_basic` among the methods of its token endpoint."
    ),
    "client-credentials.issuer.algorithms": authorizationServer.must(
      "Its metadata list the signature algorithms if it accepts JWTs."
    )
  }),
  at(`${machine}#security-considerations`, revisions, {
    "client-credentials.security": both.must("Credentials are stored, sent and shown as OAuth 2.1 section 7 demands.")
  })
)

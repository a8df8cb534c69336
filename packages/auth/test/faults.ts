/** Faults in authorization, each with the test that detects it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const server = "packages/auth/src/server"
const client = "packages/auth/src/client"
const clientTest = "packages/auth/test/client"
const serverTest = "packages/auth/test/server"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "Any type of JWT is an access token",
    file: `${server}/JwtVerifier.ts`,
    from: "if (!types.includes(typeOf(header.typ)))",
    to: "if (false)",
    test: `${serverTest}/attacks.test.ts`,
    ids: ["authorization.server.token-validated"]
  },
  {
    name: "Signatures are remembered without bound",
    file: "packages/core/src/internal/BoundedMap.ts",
    from: "if (this.size > this.capacity) this.dropOldest()",
    to: "",
    test: `${serverTest}/TokenVerifier.test.ts`
  },
  {
    name: "A handler can read the token",
    file: `${server}/Guard.ts`,
    from: 'headers: ["authorization", "dpop"]',
    to: 'headers: ["dpop"]',
    test: `${serverTest}/Auth.test.ts`,
    ids: ["authorization.server.tokens-stored", "authorization.server.no-passthrough"]
  },
  {
    name: "A handler can read the proof",
    file: `${server}/Guard.ts`,
    from: 'headers: ["authorization", "dpop"]',
    to: 'headers: ["authorization"]',
    test: `${serverTest}/Auth.test.ts`
  },
  {
    name: "The guard is off for requests that name a revision of 2025",
    file: `${server}/Guard.ts`,
    from: "  if (isPreflight(request)) return anonymous()",
    to: '  if (isPreflight(request) || request.headers["mcp-protocol-version"]?.startsWith("2025-0")) return anonymous()',
    test: `${serverTest}/Auth.test.ts`,
    ids: ["authorization.server.status-401", "authorization.server.invalid-token-401"]
  },
  {
    name: "A proof that holds its private key is left to the library below",
    file: `${server}/Dpop.ts`,
    from: 'if (jwk === undefined || "d" in jwk || "k" in jwk)',
    to: "if (jwk === undefined)",
    test: `${serverTest}/Dpop.test.ts`
  },
  {
    name: "Claims of any issuer admit their bearer",
    file: `${server}/ClaimRules.ts`,
    from: 'typeof iss !== "string" || !rules.issuers.includes(iss)',
    to: 'typeof iss !== "string"',
    test: `${serverTest}/ClaimRules.test.ts`
  },
  {
    name: "A refresh names no resource",
    file: `${client}/Refresh.ts`,
    from: "    resource: request.resource\n  }\n  const fresh",
    to: "  }\n  const fresh",
    test: `${clientTest}/AuthorizationCode.test.ts`,
    ids: ["authorization.client.resource-indicators"]
  },
  {
    name: "Only an authorization server that registers clients is told the resource",
    file: `${client}/AuthorizationCode.ts`,
    from: '    code_challenge_method: "S256",\n    resource,',
    to: '    code_challenge_method: "S256",\n    resource: metadata.registration_endpoint === undefined ? undefined : resource,',
    test: `${clientTest}/AuthorizationCode.test.ts`,
    ids: ["authorization.client.resource-always"]
  },
  {
    name: "The root is looked at before the path",
    file: "packages/auth/src/shared/MetadataDiscovery.ts",
    from: "[new URL(root.pathname + path + server.search, server.origin), root]",
    to: "[root, new URL(root.pathname + path + server.search, server.origin)]",
    test: "packages/auth/test/shared/MetadataDiscovery.test.ts",
    ids: ["authorization.discovery.conforms", "authorization.client.resource-metadata-order"]
  },
  {
    name: "At a server of 2025-03-26 all places are looked at",
    file: "packages/auth/src/shared/MetadataDiscovery.ts",
    from: "legacy ? wellKnown.slice(0, 1) : wellKnown",
    to: "wellKnown",
    test: "packages/auth/test/shared/MetadataDiscovery.test.ts",
    ids: ["authorization.client.base-url-metadata"]
  },
  {
    name: "What is hidden is listed",
    file: `${server}/RequiredScopes.ts`,
    from: "sees: hide ? admits(auth, scopes) : undefined",
    to: "sees: undefined",
    test: `${serverTest}/Hide.test.ts`
  },
  {
    name: "What is hidden by an inner annotation is shown by an outer one",
    file: `${server}/RequiredScopes.ts`,
    from: "const hide = annotation.hide || before?.hide === true",
    to: "const hide = annotation.hide",
    test: `${serverTest}/Hide.test.ts`
  },
  {
    name: "A mounted server's hidden tools are listed",
    file: `${server}/RequiredScopes.ts`,
    from: "sees(principal) ? list : Effect.succeed([])",
    to: "sees(principal) ? list : list",
    test: `${serverTest}/Hide.test.ts`
  },
  {
    name: "A mounted server's hidden tools can be called",
    file: `${server}/RequiredScopes.ts`,
    from: "      sees(principal) ? offer : unknown(asked)",
    to: "      sees(principal) ? offer : offer",
    test: `${serverTest}/Hide.test.ts`
  },
  {
    name: "A mounted server's hidden resources can be subscribed to",
    file: `${server}/RequiredScopes.ts`,
    from: "(sees(principal) ? Effect.void : notFound(uri))",
    to: "(sees(principal) ? Effect.void : Effect.void)",
    test: `${serverTest}/Hide.test.ts`
  },
  {
    name: "Lists that depend on the caller are cached for all",
    file: `${server}/RequiredScopes.ts`,
    from: 'result : { ...result, cacheScope: "private" }',
    to: "result : result",
    test: `${serverTest}/Hide.test.ts`
  },
  {
    name: "What a scope guards is cached for all",
    file: `${server}/RequiredScopes.ts`,
    from: 'result.cacheScope === "public" ? { ...result, cacheScope: "private" } : result',
    to: "result",
    test: `${serverTest}/Hide.test.ts`
  },
  ...["Renewal.test.ts", "Access.model.test.ts"].map((test): Fault => ({
    name: `An expired token of another process is taken (${test})`,
    file: `${client}/Access.ts`,
    from: "      Scopes.covers(stored.requested, needed) &&\n      !isExpired(stored, now),",
    to: "      Scopes.covers(stored.requested, needed),",
    test: `${clientTest}/${test}`
  })),
  {
    name: "A refresh that is refused leads to a login at an issuer that the server left",
    file: `${client}/Access.ts`,
    from: "obtain(state, known, used, demand, false)",
    to: "obtain(state, known, used, demand, true)",
    test: `${clientTest}/Renewal.test.ts`
  },
  ...["Access.model.test.ts", "Renewal.test.ts"].map((test) => ({
    name: `Metadata are looked for at the well-known URIs alone (${test})`,
    file: `${client}/Access.ts`,
    from: "const find = indicator === undefined ? MetadataDiscovery.resource : MetadataDiscovery.find",
    to: "const find = (options: MetadataDiscovery.Options, _?: string) => MetadataDiscovery.resource(options, undefined)",
    test: `${clientTest}/${test}`
  })),
  {
    name: "The exchange of an ID-JAG names no resource",
    file: `${client}/EnterpriseManaged.ts`,
    from: '      resource: request.resource,\n      scope: request.scopes?.join(" "),\n      subject_token:',
    to: '      scope: request.scopes?.join(" "),\n      subject_token:',
    test: `${clientTest}/Grants.test.ts`,
    ids: ["enterprise-authorization.exchange.resource"]
  },
  {
    name: "Anything that an identity provider issues is taken for an ID-JAG",
    file: `${client}/EnterpriseManaged.ts`,
    from: "if (response.issued_token_type !== idJag)",
    to: "if (false)",
    test: `${clientTest}/Grants.test.ts`,
    ids: ["enterprise-authorization.exchange.issued-type"]
  },
  {
    name: "The client does not authenticate for the exchange",
    file: `${client}/EnterpriseManaged.ts`,
    from: "    proof.headers\n",
    to: "    {}\n",
    test: `${clientTest}/Grants.test.ts`,
    ids: ["enterprise-authorization.exchange.client-authentication"]
  },
  {
    name: "A client opens URLs of any scheme",
    file: "packages/auth/src/shared/TrustedUrl.ts",
    from: 'if (!isSecure(url)) return refuse("is not secure", "https, or http on the loopback interface")',
    to: 'if (url.protocol === "http:" && !isSecure(url)) return refuse("is not secure", "https")',
    test: "packages/auth/test/shared/MetadataDiscovery.test.ts",
    ids: ["best-practices.urls.schemes", "best-practices.urls.dangerous-rejected", "best-practices.urls.allowlist"]
  },
  {
    name: "A redirect leads to any origin",
    file: "packages/auth/src/shared/Fetch.ts",
    from: "if (target === undefined || target.origin !== new URL(request.url).origin)",
    to: "if (target === undefined)",
    test: "packages/auth/test/shared/MetadataDiscovery.test.ts",
    ids: ["best-practices.ssrf.redirects"]
  },
  {
    name: "A shell opens the page",
    file: `${client}/Loopback.ts`,
    from: '{ stdout: "ignore", stderr: "ignore" }',
    to: '{ stdout: "ignore", stderr: "ignore", shell: true }',
    test: "packages/auth/test/process/client/Authorizer.test.ts",
    ids: ["best-practices.urls.no-shell", "best-practices.urls.platform-opener"]
  },
  {
    name: "a static token that only begins alike is taken",
    file: "packages/auth/src/server/StaticTokens.ts",
    from: "index < a.length; index++",
    to: "index < 0; index++",
    test: "packages/auth/test/server/StaticTokens.test.ts"
  },
  {
    name: "a request with two static tokens is admitted",
    file: "packages/auth/src/server/StaticTokens.ts",
    from: "if (other !== undefined) return",
    to: 'if (other === "") return',
    test: "packages/auth/test/server/StaticTokens.test.ts"
  },
  {
    name: "a static token is taken from the query",
    file: "packages/auth/src/server/StaticTokens.ts",
    from: "if (problem !== undefined) return { _tag",
    to: 'if (problem === "") return { _tag',
    test: "packages/auth/test/server/StaticTokens.test.ts"
  },
  {
    name: "scopes that every request needs are not asked of a static token",
    file: "packages/auth/src/server/StaticTokens.ts",
    from: "policy.scopes.filter((scope) => !policy.satisfies(scopes, scope))",
    to: "policy.scopes.filter((scope) => !policy.satisfies(policy.scopes, scope))",
    test: "packages/auth/test/server/StaticTokens.test.ts"
  },
  {
    name: "an API key stays in the headers that handlers see",
    file: "packages/auth/src/server/Guard.ts",
    from: "Headers.removeMany(request.headers, credentials)",
    to: 'Headers.removeMany(request.headers, ["authorization", "dpop"])',
    test: "packages/auth/test/server/StaticTokens.test.ts"
  }
]

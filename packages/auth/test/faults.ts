/** Faults of authorization, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const server = "packages/auth/src/server"
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
    file: `${server}/JwtVerifier.ts`,
    from: "if (known.size > remembered && oldest !== undefined) known.delete(oldest)",
    to: "",
    test: `${serverTest}/TokenVerifier.test.ts`
  },
  {
    name: "A handler can read the token",
    file: `${server}/Guard.ts`,
    from: 'Headers.removeMany(request.headers, ["authorization", "dpop"])',
    to: 'Headers.removeMany(request.headers, ["dpop"])',
    test: `${serverTest}/Auth.test.ts`,
    ids: ["authorization.server.tokens-stored", "authorization.server.no-passthrough"]
  },
  {
    name: "A handler can read the proof",
    file: `${server}/Guard.ts`,
    from: 'Headers.removeMany(request.headers, ["authorization", "dpop"])',
    to: 'Headers.removeMany(request.headers, ["authorization"])',
    test: `${serverTest}/Auth.test.ts`
  },
  {
    name: "Every OPTIONS request passes",
    file: `${server}/Guard.ts`,
    from: 'method === "OPTIONS" && headers["origin"] !== undefined && headers["access-control-request-method"] !== undefined',
    to: 'method === "OPTIONS"',
    test: `${serverTest}/Auth.test.ts`,
    ids: ["authorization.server.status-401"]
  },
  {
    name: "Streams end before their token",
    file: `${server}/Guard.ts`,
    from: "? (exp + skew) * 1000",
    to: "? (exp - skew) * 1000",
    test: `${serverTest}/Guard.test.ts`
  },
  {
    name: "A proof for the public URL is refused behind a proxy that rewrites paths",
    file: `${server}/Guard.ts`,
    from: "[resource, new URL(pathname, resource).href]",
    to: "[new URL(pathname, resource).href]",
    test: `${serverTest}/Dpop.test.ts`
  },
  {
    name: "The guard is off for requests that name a revision of 2025",
    file: `${server}/Guard.ts`,
    from: "    if (isPreflight(request)) return anonymous()",
    to: '    if (isPreflight(request) || request.headers["mcp-protocol-version"]?.startsWith("2025-0")) return anonymous()',
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
    name: "Scopes in scp are not read",
    file: `${server}/Admission.ts`,
    from: "strings(scope ?? scp)",
    to: "strings(scope)",
    test: `${serverTest}/Admission.test.ts`
  },
  {
    name: "Claims of any issuer admit their bearer",
    file: `${server}/Admission.ts`,
    from: 'typeof iss !== "string" || !rules.issuers.includes(iss)',
    to: 'typeof iss !== "string"',
    test: `${serverTest}/Admission.test.ts`
  }
]

/** Deliberate faults, and the test that catches each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a server asks the client of another server whose handler calls it",
    file: "packages/compat/src/request/current.ts",
    from: "held?.owner === owner && held.runs",
    to: "held?.runs === true",
    test: "packages/compat/test/requests.test.ts"
  },
  {
    name: "an endpoint admits every host",
    file: "packages/compat/src/http/validation.ts",
    from: 'done.has("host") ?',
    to: 'done.has("host") !== undefined ?',
    test: "packages/compat/test/admission.test.ts"
  },
  {
    name: "a signed state of one user is verified for another",
    file: "packages/compat/src/request/requestState.ts",
    from: "owner !== ownerOf(context)",
    to: "owner === null",
    test: "packages/compat/test/state.test.ts"
  },
  {
    name: "a token that has expired is admitted",
    file: "packages/compat/src/http/bearer.ts",
    from: "expiresAt < Date.now() / 1000",
    to: "expiresAt < 0",
    test: "packages/compat/test/bearer.test.ts"
  },
  {
    name: "a secret of one authorization server is sent to another",
    file: "packages/compat/src/client/login/flow.ts",
    from: "isSameIssuer(known.issuer ?? issuer, issuer)",
    to: "isSameIssuer(issuer, issuer)",
    test: "packages/compat/test/login.test.ts"
  },
  {
    name: "a refresh token of one authorization server is sent to another",
    file: "packages/compat/src/client/login/flow.ts",
    from: "!isSameIssuer(tokens.issuer ?? issuer, issuer)",
    to: "!isSameIssuer(issuer, issuer)",
    test: "packages/compat/test/login.test.ts"
  },
  {
    name: "a token is sent over plain http to any host",
    file: "packages/compat/src/client/login/Login.ts",
    from: "provider === undefined || !isSecure(this.#server)",
    to: "provider === undefined",
    test: "packages/compat/test/loginFailures.test.ts"
  },
  {
    name: "a code that is given twice forgets the tokens of the first time",
    file: "packages/compat/src/client/login/flow.ts",
    from: 'if (hasCode && forgotten === "tokens") throw error',
    to: "",
    test: "packages/compat/test/loginFailures.test.ts"
  }
]

/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a message that is posted to an SSE session is written and parsed again",
    file: "packages/compat/src/server/messages.ts",
    from: "if (before !== undefined) return [before]",
    to: "",
    test: "packages/compat/test/sse.test.ts"
  },
  {
    name: "the rounds of a handler that asks for input are repeated",
    file: "packages/compat/src/request/answer.ts",
    from: "const known = isRecorded(name)",
    to: "const known = isRecorded(name) && count < 0",
    test: "packages/compat/test/process/v2.test.ts"
  },
  {
    name: "an error that a tool throws is no failed result",
    file: "packages/compat/src/server/Tools.ts",
    from: '({ content: [{ type: "text", text }], isError: true })',
    to: '({ content: [{ type: "text", text }], isError: false })',
    test: "packages/compat/test/process/v2.test.ts"
  },
  {
    name: "a URI that is no expansion of a template matches it",
    file: "packages/compat/src/model/UriTemplate.ts",
    from: "if (values === undefined) return null",
    to: "if (values === undefined) return {}",
    test: "packages/compat/test/uri-template.test.ts"
  },
  {
    name: "a disabled tool is listed",
    file: "packages/compat/src/server/Registry.ts",
    from: "(enabled ? [[key, value] as const] : [])",
    to: "(enabled || key ? [[key, value] as const] : [])",
    test: "packages/compat/test/process/v2.test.ts"
  },
  {
    name: "a transport with sessions serves each request by itself",
    file: "packages/compat/src/http/transport.ts",
    from: "sessions: sessionIdGenerator !== undefined",
    to: "sessions: sessionIdGenerator === null",
    test: "packages/compat/test/process/v1.test.ts"
  },
  {
    name: "a server asks the client of another server whose handler calls it",
    file: "packages/compat/src/request/current.ts",
    from: "held?.owner === owner && held.runs",
    to: "held?.runs === true",
    test: "packages/compat/test/requests.test.ts"
  },
  {
    name: "a server asks in a request that has ended",
    file: "packages/compat/src/request/current.ts",
    from: "held?.owner === owner && held.runs",
    to: "held?.owner === owner",
    test: "packages/compat/test/requests.test.ts"
  },
  {
    name: "a rejecting callback is an unhandled rejection",
    file: "packages/compat/src/model/report.ts",
    from: "if (isThenable(result)) result.then(undefined, failed)",
    to: "",
    test: "packages/compat/test/connect.test.ts"
  },
  {
    name: "an endpoint admits every host",
    file: "packages/compat/src/http/validation.ts",
    from: 'done?.has("host") === true ?',
    to: 'done?.has("host") !== false ?',
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
    name: "the answer to initialize does not wait for onsessioninitialized",
    file: "packages/compat/src/server/Actor.ts",
    from: "arrival === undefined ? next",
    to: "arrival !== null ? next",
    test: "packages/compat/test/callbacks.test.ts"
  },
  {
    name: "a client asks a server that it knows for its era",
    file: "packages/compat/src/client/prior.ts",
    from: "known === undefined) return next()",
    to: "known !== null) return next()",
    test: "packages/compat/test/discovery.test.ts"
  },
  {
    name: "a token that has expired is admitted",
    file: "packages/compat/src/http/bearer.ts",
    from: "expiresAt < Date.now() / 1000",
    to: "expiresAt < 0",
    test: "packages/compat/test/bearer.test.ts"
  },
  {
    name: "a handler of the program answers no subscription without a session",
    file: "packages/compat/src/server/Actor.ts",
    from: "({ code }) => code === Wire.MethodNotFound",
    to: "({ code }) => code === 0",
    test: "packages/compat/test/subscribing.test.ts"
  },
  {
    name: "a second initialize opens another session at a transport",
    file: "packages/compat/src/server/connect.ts",
    from: "if (session !== undefined)\n",
    to: "if (session === null)\n",
    test: "packages/compat/test/paths.test.ts"
  },
  {
    name: "a path that begins with two slashes names another host",
    file: "packages/compat/src/request/urls.ts",
    from: 'path.startsWith("/") ?',
    to: "/^\\/[^/]/.test(path) ?",
    test: "packages/compat/test/paths.test.ts"
  },
  {
    name: "a server agrees to announce what it does not declare",
    file: "packages/compat/src/server/Actor.ts",
    from: "params: heardFrom(definition, request.params)",
    to: "params: request.params",
    test: "packages/compat/test/subscribing.test.ts"
  },
  {
    name: "a code is used whose answer names another authorization server",
    file: "packages/compat/src/client/login/flow.ts",
    from: "iss !== null && iss !== issuer",
    to: "iss !== null && iss === null",
    test: "packages/compat/test/login.test.ts"
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
    name: "each request that is refused logs in by itself",
    file: "packages/compat/src/client/login/Login.ts",
    from: "attempts.get(key) ?? attempt()",
    to: "attempt()",
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
    name: "a code is sent to the authorization server that the MCP server names now, whichever the user visited",
    file: "packages/compat/src/client/login/flow.ts",
    from: "((await provider.discoveryState?.()) ?? visited.get(provider))",
    to: "await provider.discoveryState?.()",
    test: "packages/compat/test/loginFailures.test.ts"
  },
  {
    name: "texts of an answer are told whatever its issuer",
    file: "packages/compat/src/client/login/flow.ts",
    from: "checkIssuer(await found(provider, options, true))",
    to: "await found(provider, options, true)",
    test: "packages/compat/test/loginFailures.test.ts"
  },
  {
    name: "a client that was saved without its authorization server stays without",
    file: "packages/compat/src/client/login/flow.ts",
    from: "if (client.issuer === undefined) await bind(",
    to: "if (client.issuer === null) await bind(",
    test: "packages/compat/test/loginFailures.test.ts"
  },
  {
    name: "a code that is given twice forgets the tokens of the first time",
    file: "packages/compat/src/client/login/flow.ts",
    from: 'if (hasCode && forgotten === "tokens") throw error',
    to: "",
    test: "packages/compat/test/loginFailures.test.ts"
  },
  {
    name: "a stream and the request after it open a page each",
    file: "packages/compat/src/client/login/Login.ts",
    from: "if (this.#unseen !== undefined) throw this.#unseen",
    to: "",
    test: "packages/compat/test/loginFailures.test.ts"
  },
  {
    name: "a refused token is got again without end",
    file: "packages/compat/src/client/login/Login.ts",
    from: "if (tried.has(`${status}`)) throw exhausted(status, this.#server)",
    to: "if (tried.size > 9) throw exhausted(status, this.#server)",
    test: "packages/compat/test/loginFailures.test.ts"
  }
]

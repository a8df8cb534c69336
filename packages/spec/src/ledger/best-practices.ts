/** Requirements of the page "Security Best Practices", which complements the pages of authorization. */
import { at, authorizationServer, client, host, only, requirements, server, since } from "../Requirement.ts"

const page = "tutorials/security/security_best_practices"
const all = since("2025-06-18")
const sessions = since("2025-06-18", "2025-11-25")
const handles = only("2026-07-28")

const noProxy = { note: "The library has no authorization server of its own in front of that of a third party." }
const authors = { note: "What a server keeps between requests, and under which handle, is its author's choice." }

/** Servers that are an OAuth client of a third party on behalf of their own clients. */
const confusedDeputy = at(`${page}#confused-deputy-problem`, all, {
  "best-practices.deputy.consent-per-client": server.must(
    "A proxy of a third party's authorization asks the user's consent for each client.",
    noProxy
  ),
  "best-practices.deputy.consent-kept": server.must(
    "Such a proxy securely stores which clients a user approved, and checks this before it contacts the third party.",
    noProxy
  ),
  "best-practices.deputy.consent-page": server.must(
    "Its consent page names the client, the third party's scopes and the redirect URI, and resists CSRF and framing.",
    noProxy
  ),
  "best-practices.deputy.consent-cookie": server.must(
    "A cookie of consent is a signed, secure `__Host-` cookie that is bound to one client.",
    noProxy
  ),
  "best-practices.deputy.redirect-exact": server.must(
    "Such a proxy accepts a redirect URI only if it exactly equals the registered one.",
    noProxy
  ),
  "best-practices.deputy.state": server.must(
    "Its `state` is random, stored on the server, short-lived, used once and checked at the callback.",
    noProxy
  ),
  "best-practices.deputy.state-after-consent": server.mustNot(
    "Its `state` is not set before the user consented.",
    noProxy
  )
})

const forgery = requirements(
  at(`${page}#server-side-request-forgery-ssrf`, all, {
    "best-practices.ssrf.mitigated": client.must(
      "A client mitigates request forgery when it fetches URLs that servers name for OAuth."
    ),
    "best-practices.ssrf.https": client.should("All URLs of OAuth are HTTPS, but for the loopback interface."),
    "best-practices.ssrf.private-addresses": client.should(
      "A client asks no private, link-local or loopback address that a public server names."
    ),
    "best-practices.ssrf.redirects": client.should("The target of a redirect is held to the same rules as a URL."),
    "best-practices.ssrf.egress-proxy": host.should("A client on a server sends its requests through an egress proxy.")
  }),
  at(`${page}#ssrf-against-authorization-servers`, handles, {
    "best-practices.ssrf.documents": authorizationServer.should(
      "It holds the URLs of client metadata documents to the same rules.",
      { plain: true }
    )
  })
)

const hijacking = requirements(
  at(`${page}#session-hijacking`, sessions, {
    "best-practices.sessions.requests-verified": server.must("A server with authorization verifies every request."),
    "best-practices.sessions.not-authentication": server.mustNot("A session id authenticates nobody."),
    "best-practices.sessions.id-secure": server.must("Session ids are secure and follow no sequence."),
    "best-practices.sessions.id-random": server.should("Session ids come from a secure source of randomness."),
    "best-practices.sessions.user-bound": server.should("A session is bound to the user of its tokens.")
  }),
  at(`${page}#state-handle-hijacking`, handles, {
    "best-practices.handles.requests-verified": server.must("A server with authorization verifies every request."),
    "best-practices.handles.not-authentication": server.mustNot("A handle of state authenticates nobody."),
    "best-practices.handles.id-random": server.should("Handles of state are random and cannot be guessed.", authors),
    "best-practices.handles.user-bound": server.should(
      "A handle of state is bound to the user of its token and rejected from any other."
    )
  })
)

const local = at(`${page}#local-mcp-server-compromise`, all, {
  "best-practices.local.consent": host.must("The user consents before the command of a configured server runs."),
  "best-practices.local.consent-shown": host.must(
    "The dialog shows the complete command, warns that it is dangerous, and can be declined."
  ),
  "best-practices.local.guardrails": host.should(
    "A host warns of dangerous commands and runs servers in a sandbox with few privileges."
  ),
  "best-practices.local.access-restricted": server.should("A local server uses stdio, or restricts access over HTTP.", {
    note: "Which transport a server uses is its operator's choice."
  })
})

const urls = at(`${page}#oauth-authorization-url-validation`, all, {
  "best-practices.urls.schemes": client.must(
    "A client opens authorization URLs with `https` only, or with `http` on the loopback interface."
  ),
  "best-practices.urls.dangerous-rejected": client.must(
    "A client rejects authorization URLs with `javascript`, `data`, `file` and other dangerous schemes."
  ),
  "best-practices.urls.allowlist": client.should(
    "A client lists the schemes that it accepts, not the ones that it rejects."
  ),
  "best-practices.urls.no-shell": client.mustNot("No shell is started to open a URL.", { sameInAll: true }),
  "best-practices.urls.platform-opener": client.should(
    "A URL is opened by the platform's own program, without a shell.",
    { sameInAll: true }
  ),
  "best-practices.urls.content-security-policy": host.should("A client on the web has a Content Security Policy."),
  "best-practices.urls.validated": client.must("A client parses and checks all URLs that servers send it.")
})

const proxies = at(`${page}#stdio-transport-security-in-proxy-scenarios`, all, {
  "best-practices.proxies.restricted": host.should(
    "A service that starts stdio servers for others confines them and logs every start."
  ),
  "best-practices.proxies.isolated": host.should(
    "A client's connection to such a service is isolated and has few rights."
  )
})

const scopes = requirements(
  at(`${page}#scope-minimization`, all, {
    "best-practices.scopes.challenge-precise": server.should(
      "A challenge names the scopes of this operation, and not all that there are.",
      { plain: true }
    ),
    "best-practices.scopes.elevation-logged": server.should("Requests for more scopes are logged.", {
      plain: true,
      note: "Grants are logged by the authorization server, refusals at the level that the operator keeps."
    }),
    "best-practices.scopes.baseline-first": client.should(
      "A client begins with the scopes of the first challenge, if it names any.",
      { plain: true }
    ),
    "best-practices.scopes.failures-remembered": client.should(
      "A client does not ask again and again for scopes that were not granted.",
      { plain: true }
    )
  }),
  at(`${page}#scope-minimization`, handles, {
    "best-practices.scopes.union": client.should(
      "A client requests the scopes that it requested before together with the challenged ones."
    )
  })
)

export const bestPractices = requirements(
  confusedDeputy,
  at(`${page}#token-passthrough`, all, {
    "best-practices.passthrough.own-tokens": server.mustNot("A server accepts only tokens that were issued for it.")
  }),
  forgery,
  hijacking,
  local,
  urls,
  proxies,
  scopes
)

/**
 * An authorization server as a program, made of `oidc-provider`: `node issuer.ts [PORT] [--yes USER]` issues tokens for servers on this
 * machine, and prints its URL. The login page asks for any name; with `--yes` every login is USER. For trying out only.
 */
import { createServer } from "node:http"
import { Provider } from "oidc-provider"

const [port = "9400", , user] = process.argv.slice(2)
const scopes = ["notes:read", "notes:write"]

const configure = (issuer: string) =>
  new Provider(issuer, {
    scopes: ["openid", "offline_access", ...scopes],
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    features: {
      devInteractions: { enabled: user === undefined },
      registration: { enabled: true },
      dPoP: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => {
          if (new URL(resource).hostname !== "127.0.0.1")
            throw new Error(`Not on this machine: ${resource}`)
          return {
            scope: scopes.join(" "),
            audience: resource,
            accessTokenFormat: "jwt"
          }
        }
      }
    },
    ...(user === undefined
      ? undefined
      : {
          interactions: { url: (_, { uid }) => `/interaction/${uid}` },
          // Grants everything that the client requests.
          loadExistingGrant: async ({ oidc: { client, params, provider } }) => {
            const { resource, scope } = params ?? {}
            const grant = new provider.Grant({
              accountId: user,
              clientId: client?.clientId ?? ""
            })
            grant.addOIDCScope(String(scope))
            grant.addResourceScope(String(resource), String(scope))
            await grant.save()
            return grant
          }
        })
  })

const http = createServer()
http.listen(Number(port), "127.0.0.1", () => {
  const address = http.address()
  const issuer = `http://127.0.0.1:${typeof address === "object" ? address?.port : port}`
  const provider = configure(issuer)
  const serve = provider.callback()
  http.on("request", (request, response) => {
    if (
      user !== undefined &&
      request.url?.startsWith("/interaction/") === true
    ) {
      void provider.interactionFinished(request, response, {
        login: { accountId: user },
        consent: {}
      })
    } else void serve(request, response)
  })
  process.stdout.write(`${issuer}\n`)
})

/**
 * A local registry for the packages under test. `npm publish` adds them, and package managers install them from here. It only contains one
 * scope; package managers get everything else from their usual registry.
 */
import { createServer, type IncomingMessage } from "node:http"

interface Version {
  readonly name: string
  readonly version: string
  readonly dist: { readonly tarball: string }
}

/** The document that `npm publish` sends and package managers read. */
interface Packument {
  readonly name: string
  readonly "dist-tags": Readonly<Record<string, string>>
  readonly versions: Readonly<Record<string, Version>>
  readonly _attachments?: Readonly<Record<string, { readonly data: string }>>
}

export interface Registry {
  readonly url: string
  /** Returns the names of the published packages. */
  readonly names: () => ReadonlyArray<string>
  readonly close: () => Promise<void>
}

const body = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Uint8Array> = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}

/** Listens on a free loopback port. */
export const open = (): Promise<Registry> => {
  const packages = new Map<string, Packument>()
  const tarballs = new Map<string, Buffer>()
  const put = (base: string, packument: Packument): void => {
    const { _attachments = {}, ...rest } = packument
    for (const { data } of Object.values(_attachments)) {
      for (const { name, version } of Object.values(rest.versions)) {
        tarballs.set(`/${name}/-/${version}.tgz`, Buffer.from(data, "base64"))
      }
    }
    const versions = Object.entries(rest.versions).map(([key, { dist, ...version }]) => {
      const tarball = `${base}/${version.name}/-/${version.version}.tgz`
      return [key, { ...version, dist: { ...dist, tarball } }] as const
    })
    packages.set(rest.name, { ...rest, versions: Object.fromEntries(versions) })
  }
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname)
    const json = (status: number, value: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
    if (request.method === "PUT") {
      const packument: Packument = JSON.parse(await body(request))
      if (packages.has(packument.name)) return json(409, { error: `${packument.name} is published already` })
      put(`http://${request.headers.host}`, packument)
      return json(201, { ok: true })
    }
    const tarball = tarballs.get(path)
    if (tarball !== undefined) return response.writeHead(200).end(tarball)
    const packument = packages.get(path.slice(1))
    return packument === undefined ? json(404, { error: `There is no ${path}` }) : json(200, packument)
  })
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      if (address === null || typeof address === "string") return reject(new Error("No port was assigned"))
      resolve({
        url: `http://127.0.0.1:${address.port}/`,
        names: () => [...packages.keys()],
        close: () => {
          server.closeAllConnections()
          return new Promise((done) => server.close(() => done()))
        }
      })
    })
  })
}

/** A listener of `node:http` for one test. */
import { onTestFinished } from "@effect/vitest"
import { createServer, type RequestListener } from "node:http"

/** Returns the URL of a server on loopback, which is closed when the test has finished. */
export const listening = async (listener: RequestListener): Promise<URL> => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (typeof address !== "object" || address === null) throw new Error("There is no port")
  return new URL(`http://127.0.0.1:${address.port}`)
}

// The loop of every client: the parent says how many calls at once and for how long; each result is checked.
process.on("disconnect", () => process.exit(0))
export const [url, era] = process.argv.slice(2)
export const modern = era === "2026"

const fault = (i, result) =>
  i % 2 === 1 ? result.structuredContent?.sum !== i + 7 : result.content?.[0]?.text !== `hello ${i}`

/** `call` gets the params of a tools/call and promises its result. */
export const serve = (call) => {
  let i = 0
  const one = async () => {
    const k = ++i
    const result = await call(
      k % 2 === 1 ? { name: "add", arguments: { a: k, b: 7 } } : { name: "echo", arguments: { text: `hello ${k}` } }
    )
    if (fault(k, result)) throw new Error(`Another result: ${JSON.stringify(result)}`)
  }
  process.on("message", async ({ inFlight, ms }) => {
    const began = performance.now()
    const before = process.cpuUsage()
    let requests = 0
    const lane = async () => {
      while (performance.now() - began < ms) {
        await one()
        requests++
      }
    }
    try {
      await Promise.all(Array.from({ length: inFlight }, lane))
      const { system, user } = process.cpuUsage(before)
      process.send({ requests, ms: performance.now() - began, cpu: user + system })
    } catch (error) {
      process.send({ error: String(error.stack ?? error) })
    }
  })
  process.send({})
}

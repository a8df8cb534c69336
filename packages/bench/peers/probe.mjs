// Preloaded into servers under test (never for cold start): says how much memory is in use, without touching stdin or stdout.
if (process.send) {
  process.on("message", (question) => {
    if (question !== "heap") return
    globalThis.gc?.()
    globalThis.gc?.()
    setTimeout(() => {
      globalThis.gc?.()
      const { external, heapUsed } = process.memoryUsage()
      process.send(heapUsed + external)
    }, 50)
  })
  // The harness died: do not linger.
  process.on("disconnect", () => process.exit(0))
  process.channel?.unref()
}
// A clean exit on request, so that node writes its profile.
process.on("SIGUSR2", () => process.exit(0))

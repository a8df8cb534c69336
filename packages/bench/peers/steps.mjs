// The CPU of this process for a step, as the server of `durable.ts` measures its own: 16 workflows at once.
const atOnce = 16
const rounds = 3

/** `workflow(steps)` runs one of so many steps. Prints the lowest of the rounds after one that is not counted. */
export const measured = async (workflow, steps) => {
  const all = () => Promise.all(Array.from({ length: atOnce }, () => workflow(steps)))
  await all()
  let least = Infinity
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage()
    await all()
    const { system, user } = process.cpuUsage(before)
    least = Math.min(least, (system + user) / (atOnce * steps))
  }
  process.stdout.write(`${JSON.stringify({ "cpu us": least })}\n`)
}

export const postgres = process.env.DATABASE_URL ?? "postgres://postgres@127.0.0.1:5432/postgres"

/** What a run is at, on standard error: a full one takes minutes. */
const began = performance.now()

export const say = (what: string): void => {
  const seconds = Math.round((performance.now() - began) / 1000)
  process.stderr.write(`${`${seconds}`.padStart(5)} s  ${what}\n`)
}

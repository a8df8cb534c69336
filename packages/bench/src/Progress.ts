/** Prints the progress of a run on standard error, because a full run takes minutes. */
const began = performance.now()

export const say = (what: string): void => {
  const seconds = Math.round((performance.now() - began) / 1000)
  process.stderr.write(`${`${seconds}`.padStart(5)} s  ${what}\n`)
}

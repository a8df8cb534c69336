/** Imports the modules that it is given, one after the other, and writes as JSON what each printed. */
import { pathToFileURL } from "node:url"

const printed = []
let lines = []
// oxlint-disable-next-line no-console -- what the examples print is compared, not shown
console.log = (...values) => void lines.push(values.map(String).join(" "))

for (const file of process.argv.slice(2)) {
  lines = []
  try {
    await import(pathToFileURL(file).href)
    printed.push({ lines })
  } catch (error) {
    printed.push({ lines, error: String(error?.stack ?? error) })
  }
}
process.stdout.write(JSON.stringify(printed), () => process.exit(0))

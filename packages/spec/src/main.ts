/** The program behind `npm run requirements`: prints the report, or with `--prove` tries the faults. Rejects unknown arguments. */
import { parse, usage } from "./commandLine.ts"

const asked = parse(process.argv.slice(2))
switch (asked._tag) {
  case "Report":
    await import("./report.ts")
    break
  case "Prove":
    await import("./prove.ts")
    break
  case "Help":
    process.stdout.write(`${usage}\n`)
    break
  case "Wrong":
    process.stderr.write(`${asked.message}.\n\n${usage}\n`)
    process.exitCode = 2
}

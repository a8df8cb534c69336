import { bin } from "../support/bin.ts"
import { layerClient } from "../support/our-client.ts"
import { suite } from "../support/server-everything-suite.ts"

// It does not exit while an operation runs that was cancelled: then it is asked to.
suite("stdio", layerClient([bin, "stdio"], { exitTimeout: "100 millis" }))

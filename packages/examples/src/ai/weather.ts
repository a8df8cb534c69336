import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"

/** An ordinary `effect/ai` toolkit. */
export const Weather = Toolkit.make(
  Tool.make("forecast", {
    description: "The weather of tomorrow",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Struct({ celsius: Schema.Finite }),
    failure: Schema.Struct({ noSuchCity: Schema.String })
  }).annotate(Tool.Readonly, true)
)

export const WeatherLive = Weather.toLayer({
  forecast: ({ city }) =>
    city === "Rome"
      ? Effect.succeed({ celsius: 24 })
      : Effect.fail({ noSuchCity: city })
})

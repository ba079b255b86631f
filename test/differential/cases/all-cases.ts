import type { Case } from "../case.ts";
import { ephemeralExchanges } from "./ephemeral-exchanges.ts";
import { everydayExchanges } from "./everyday-exchanges.ts";
import { kindExchanges } from "./kind-exchanges.ts";
import { kindsUnderTest } from "./kinds.ts";
import { kubectlOperating } from "./kubectl-operating.ts";
import { kubectlReading } from "./kubectl-reading.ts";
import { kubectlWriting } from "./kubectl-writing.ts";
import { loneExchanges } from "./lone-exchanges.ts";
import { ownKindExchanges } from "./own-kind-exchanges.ts";
import { podExchanges } from "./pod-exchanges.ts";
import { serverExchanges } from "./server-exchanges.ts";

export const kubectlCases: readonly Case[] = [...kubectlWriting, ...kubectlOperating, ...kubectlReading];
export const loneCases: readonly Case[] = loneExchanges;
export const exchangeCases: readonly Case[] = [
  ...serverExchanges,
  ...ownKindExchanges,
  ...podExchanges,
  ...ephemeralExchanges,
  ...everydayExchanges,
  ...kindsUnderTest.flatMap(kindExchanges),
];

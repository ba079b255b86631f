import { describeConformance } from "./conformance-suite.ts";

describeConformance("gvisor");

export { type ConversionReviewResponse, convertReview } from "./conversion-review.ts";
export { type ConversionResult, convert } from "./convert.ts";

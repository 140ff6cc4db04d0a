export { default } from "string_decoder";

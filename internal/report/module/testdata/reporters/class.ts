export default class Reporter { onCaseStart() {} }

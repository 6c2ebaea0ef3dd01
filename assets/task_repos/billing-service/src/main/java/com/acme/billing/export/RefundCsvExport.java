package com.acme.billing.export;

import com.acme.billing.model.Refund;
import java.util.List;

/** Writes refunds for the accounting department: comma-separated, one line each, after a header. */
public final class RefundCsvExport {

    private static final String HEADER = "reference,invoice,amount";

    /** Returns the whole file; every line, the last one too, ends with a line feed. */
    public String export(List<Refund> refunds) {
        StringBuilder file = new StringBuilder(HEADER).append('\n');
        for (Refund refund : refunds) {
            file.append(quote(refund.reference())).append(',')
                .append(quote(refund.invoiceId())).append(',')
                .append(refund.amount().toPlainString()).append('\n');
        }
        return file.toString();
    }

    private static String quote(String field) {
        boolean plain = field.chars().noneMatch(c -> c == ',' || c == '"' || c == '\n' || c == '\r');
        return plain ? field : '"' + field.replace("\"", "\"\"") + '"';
    }
}

package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertEquals;

import com.acme.billing.export.CsvExport;
import com.acme.billing.model.Refund;
import com.acme.billing.testkit.Test;
import java.math.BigDecimal;
import java.util.List;

public final class CsvExportTest {

    @Test
    public void writesOneLineForEachRefundAndQuotesWhereNeeded() {
        String file = new CsvExport().refunds(List.of(
            new Refund("ref-1", "inv-1", new BigDecimal("3.00")),
            new Refund("ref \"two\"", "inv,2", new BigDecimal("0.50"))));
        assertEquals("reference,invoice,amount\nref-1,inv-1,3.00\n\"ref \"\"two\"\"\",\"inv,2\",0.50\n",
            file);
    }
}
